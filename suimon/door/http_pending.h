// What the HTTP door remembers of a request while its verdict is on the way. Private to the door.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suimon/door/http_door.h"

namespace suimon::door {

// The policy's language for callers who name none.
inline std::uint8_t language_of(const Ruleset* ruleset) {
  return ruleset != nullptr ? ruleset->answers.language : kDefaultAnswers.language;
}

// A run of a batch's checks that were decided together.
struct HttpDoor::Part {
  Pending* pending = nullptr;
  std::string text;  // the answers, joined by commas
};

struct HttpDoor::Pending {
  enum class Kind : std::uint8_t { check, batch, forward_auth };

  HttpDoor* door = nullptr;
  Exchange* exchange = nullptr;
  AcceptedLanguages languages;
  int deny_status = 0;  // of ?deny_status=; 0: what the policy says
  Kind kind = Kind::check;
  bool plain_json = false;  // application/json even for problems
  std::size_t outstanding = 0;
  std::uint32_t spoken = 0;  // the languages of a batch's answers so far, as in AcceptedLanguages
  std::vector<Part> parts;

  // The language of one answer of a batch; Content-Language will name it.
  const Locale& speak(std::uint8_t otherwise) {
    const Locale& locale = languages.choose(otherwise);
    for (std::size_t i = 0; i < registered_locales().size(); ++i) {
      if (registered_locales()[i] == &locale) spoken |= 1U << i;
    }
    return locale;
  }

  int status_of_refusal(const Facts& facts) const {
    return deny_status != 0 ? deny_status : facts.deny_status();
  }
};

}  // namespace suimon::door
