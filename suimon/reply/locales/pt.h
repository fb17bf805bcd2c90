// Portuguese, in words that are at home on both sides of the Atlantic; formal address.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kPortuguese = {
    .tag = "pt",
    .plural = plurals::zero_one_and_millions,
    .limited_title = "Excesso de solicitações",
    .never_title = "A solicitação custa mais do que o limite comporta",
    .missing_title = "Falta um atributo obrigatório",
    .overloaded_title = "O limitador de taxa não pode decidir neste momento",
    .limited_one =
        "Excesso de solicitações para o limite “{limit}”; aguarde {seconds} segundo e tente "
        "novamente.",
    .limited_many =
        "Excesso de solicitações para o limite “{limit}”; aguarde {seconds} de segundos e tente "
        "novamente.",
    .limited_other =
        "Excesso de solicitações para o limite “{limit}”; aguarde {seconds} segundos e tente "
        "novamente.",
    .never =
        "Esta solicitação custa mais ({cost}) do que o limite “{limit}” comporta ({capacity}); de "
        "nada adianta esperar: divida-a em solicitações menores.",
    .missing =
        "O limite “{limit}” exige o atributo “{attribute}”, ausente nesta solicitação; "
        "acrescente-o e tente novamente.",
    .refused = "Excesso de solicitações; aguarde 1 segundo e tente novamente.",
    .overloaded =
        "O limitador de taxa não pode decidir neste momento; tente novamente dentro de instantes.",
};

}  // namespace suimon::locales
