// German; formal address.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kGerman = {
    .tag = "de",
    .plural = plurals::one_is_one,
    .limited_title = "Zu viele Anfragen",
    .never_title = "Die Anfrage kostet mehr, als das Limit fassen kann",
    .missing_title = "Ein erforderliches Attribut fehlt",
    .overloaded_title = "Der Rate-Limiter kann derzeit nicht entscheiden",
    .limited_one =
        "Zu viele Anfragen für das Limit „{limit}“; bitte warten Sie {seconds} Sekunde und "
        "versuchen Sie es dann erneut.",
    .limited_other =
        "Zu viele Anfragen für das Limit „{limit}“; bitte warten Sie {seconds} Sekunden und "
        "versuchen Sie es dann erneut.",
    .never =
        "Diese Anfrage kostet {cost} Token, das Limit „{limit}“ fasst aber nie mehr als "
        "{capacity}; Warten hilft nicht, bitte senden Sie sie in kleineren Teilen.",
    .missing =
        "Das Limit „{limit}“ benötigt das Attribut „{attribute}“, das in dieser Anfrage fehlt; "
        "bitte ergänzen Sie es und versuchen Sie es erneut.",
    .refused = "Zu viele Anfragen; bitte warten Sie 1 Sekunde und versuchen Sie es dann erneut.",
    .overloaded =
        "Der Rate-Limiter kann derzeit nicht entscheiden; bitte versuchen Sie es in Kürze erneut.",
};

}  // namespace suimon::locales
