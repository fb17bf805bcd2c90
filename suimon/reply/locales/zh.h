// Chinese, in simplified characters; formal address.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kChinese = {
    .tag = "zh",
    .limited_title = "请求过多",
    .never_title = "请求的开销超出限制的容量",
    .missing_title = "缺少必需的属性",
    .overloaded_title = "限流器目前无法作出判定",
    .limited_other = "针对限制“{limit}”的请求过多，请等待 {seconds} 秒后重试。",
    .never =
        "此请求需要 {cost} 个令牌，而限制“{limit}”最多只能容纳 {capacity} "
        "个；等待无济于事，请将其拆分为较小的请求后再发送。",
    .missing = "限制“{limit}”需要属性“{attribute}”，而此请求中没有该属性；请补充后重试。",
    .refused = "请求过多，请等待 1 秒后重试。",
    .overloaded = "限流器目前无法作出判定，请稍后重试。",
};

}  // namespace suimon::locales
