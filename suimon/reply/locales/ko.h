// Korean; formal address. No particle follows a place: its form would hang on the text there.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kKorean = {
    .tag = "ko",
    .limited_title = "요청이 너무 많습니다",
    .never_title = "요청의 비용이 제한의 용량을 초과합니다",
    .missing_title = "필수 속성이 없습니다",
    .overloaded_title = "처리율 제한 장치가 현재 판정을 내릴 수 없습니다",
    .limited_other =
        "‘{limit}’ 제한에 대한 요청이 너무 많으니 {seconds}초 후에 다시 시도해 주십시오.",
    .never =
        "이 요청에는 토큰 {cost}개가 필요하지만 ‘{limit}’ 제한의 용량은 {capacity}개까지이며, "
        "기다려도 통과되지 않으니 더 작은 요청으로 나누어 보내 주십시오.",
    .missing =
        "‘{limit}’ 제한에 필요한 ‘{attribute}’ 속성이 이 요청에 없으니, 추가한 후 다시 시도해 "
        "주십시오.",
    .refused = "요청이 너무 많으니 1초 후에 다시 시도해 주십시오.",
    .overloaded = "처리율 제한 장치가 현재 판정을 내릴 수 없으니 잠시 후 다시 시도해 주십시오.",
};

}  // namespace suimon::locales
