// Japanese.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kJapanese = {
    .tag = "ja",
    .limited_title = "リクエストが多すぎます",
    .never_title = "リクエストのコストが上限を超えています",
    .missing_title = "必要な属性がありません",
    .overloaded_title = "レートリミッターが現在判定できません",
    .limited_other =
        "制限「{limit}」に対するリクエストが多すぎます。{seconds}"
        "秒待ってから、もう一度お試しください。",
    .never =
        "このリクエストのコストは{cost}トークンですが、制限「{limit}」の容量は{capacity}"
        "トークンまでです。待っても通りませんので、小さく分けて送ってください。",
    .missing =
        "制限「{limit}」には属性「{attribute}」が必要ですが、このリクエストにはありません。"
        "付け加えてから、もう一度お試しください。",
    .refused = "リクエストが多すぎます。1秒待ってから、もう一度お試しください。",
    .overloaded =
        "レートリミッターが現在判定できません。しばらくしてから、もう一度お試しください。",
};

}  // namespace suimon::locales
