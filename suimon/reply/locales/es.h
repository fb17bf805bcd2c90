// Spanish; formal address.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kSpanish = {
    .tag = "es",
    .plural = plurals::one_and_millions,
    .limited_title = "Demasiadas solicitudes",
    .never_title = "La solicitud cuesta más de lo que el límite puede admitir",
    .missing_title = "Falta un atributo obligatorio",
    .overloaded_title = "El limitador de tasa no puede decidir en este momento",
    .limited_one =
        "Demasiadas solicitudes para el límite «{limit}»; espere {seconds} segundo y vuelva a "
        "intentarlo.",
    .limited_many =
        "Demasiadas solicitudes para el límite «{limit}»; espere {seconds} de segundos y vuelva a "
        "intentarlo.",
    .limited_other =
        "Demasiadas solicitudes para el límite «{limit}»; espere {seconds} segundos y vuelva a "
        "intentarlo.",
    .never =
        "Esta solicitud cuesta más ({cost}) de lo que el límite «{limit}» puede admitir "
        "({capacity}); de nada sirve esperar: divídala en solicitudes más pequeñas.",
    .missing =
        "El límite «{limit}» requiere el atributo «{attribute}», que no figura en esta solicitud; "
        "añádalo y vuelva a intentarlo.",
    .refused = "Demasiadas solicitudes; espere 1 segundo y vuelva a intentarlo.",
    .overloaded =
        "El limitador de tasa no puede decidir en este momento; vuelva a intentarlo dentro de unos "
        "instantes.",
};

}  // namespace suimon::locales
