// English.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kEnglish = {
    .tag = "en",
    .plural = plurals::one_is_one,
    .limited_title = "Too many requests",
    .never_title = "Request costs more than the limit can hold",
    .missing_title = "A required attribute is missing",
    .overloaded_title = "The rate limiter cannot decide now",
    .limited_one =
        "Too many requests for the limit \"{limit}\"; wait {seconds} second, then try again.",
    .limited_other =
        "Too many requests for the limit \"{limit}\"; wait {seconds} seconds, then try again.",
    .never =
        "This request costs {cost} tokens, but the limit \"{limit}\" never holds more than "
        "{capacity}; waiting does not help, send it in smaller parts.",
    .missing =
        "The limit \"{limit}\" needs the attribute \"{attribute}\", which this request "
        "lacks; send it and try again.",
    .refused = "Too many requests; wait 1 second, then try again.",
    .overloaded = "The rate limiter cannot decide at the moment; try again in a moment.",
};

}  // namespace suimon::locales
