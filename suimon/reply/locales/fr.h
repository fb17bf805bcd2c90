// French; formal address. Guillemets and the semicolon stand with spaces that do not break.
#pragma once

#include "suimon/reply/locale.h"

namespace suimon::locales {

inline constexpr Locale kFrench = {
    .tag = "fr",
    .plural = plurals::zero_one_and_millions,
    .limited_title = "Trop de requêtes",
    .never_title = "Le coût de la requête dépasse la capacité de la limite",
    .missing_title = "Un attribut obligatoire est absent",
    .overloaded_title = "Le limiteur de débit ne peut pas statuer pour le moment",
    .limited_one =
        "Trop de requêtes pour la limite « {limit} » ; veuillez patienter {seconds} seconde, puis "
        "réessayer.",
    .limited_many =
        "Trop de requêtes pour la limite « {limit} » ; veuillez patienter {seconds} de secondes, "
        "puis réessayer.",
    .limited_other =
        "Trop de requêtes pour la limite « {limit} » ; veuillez patienter {seconds} secondes, puis "
        "réessayer.",
    .never =
        "Le coût de cette requête ({cost}) dépasse la capacité de la limite « {limit} » "
        "({capacity}) ; attendre est inutile, veuillez diviser la requête en plusieurs plus "
        "petites.",
    .missing =
        "La limite « {limit} » exige l’attribut « {attribute} », absent de cette requête ; "
        "veuillez l’ajouter, puis réessayer.",
    .refused = "Trop de requêtes ; veuillez patienter 1 seconde, puis réessayer.",
    .overloaded =
        "Le limiteur de débit ne peut pas statuer pour le moment ; veuillez réessayer dans "
        "quelques instants.",
};

}  // namespace suimon::locales
