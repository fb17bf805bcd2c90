// What the HTTP door remembers of a request while its verdict is on the way. Private to the door.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suimon/door/http_door.h"

namespace suimon::door {

// A run of a batch's checks that were decided together.
struct HttpDoor::Part {
  Pending* pending = nullptr;
  std::string text;  // the answers, joined by commas
};

struct HttpDoor::Pending {
  enum class Kind : std::uint8_t { check, batch, forward_auth };

  HttpDoor* door = nullptr;
  Exchange* exchange = nullptr;
  const Locale* locale = nullptr;
  int deny_status = 0;  // 0: the limit's own
  Kind kind = Kind::check;
  bool plain_json = false;  // application/json even for problems
  std::size_t outstanding = 0;
  std::vector<Part> parts;

  int status_of_refusal() const { return deny_status != 0 ? deny_status : 429; }
};

}  // namespace suimon::door
