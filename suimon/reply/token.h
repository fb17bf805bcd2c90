// A verdict as one header value (X-Suimon-Verdict), for proxies that cannot pass a body on:
// they hand it to /v1/refusal, which writes the refusal from it alone.
//
//   token  = "1" SP outcome SP status [ SP domain ] *( SP limit )
//   limit  = name "," outcome "," advertise "," capacity "," cost "," remaining "," window ","
//            reset "," retry "," next "," missing      waits in ns, "-" for none
//
// A limit's name is [A-Za-z0-9._-]; the domain and a missing attribute are hex-escaped where they
// are not. Shadow limits are left out. What limits are called in each language and how answers look
// is not in it: find_rules finds that. The token names limits and figures, never a client.
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "suimon/reply/facts.h"
#include "suimon/result.h"

namespace suimon {

struct Told {
  Facts facts;  // its names are views into `names`; it knows no rules
  int status = 429;
  std::string names;
};

// Appends the token, mostly less than 2 KiB. `status` is one of kDenyStatuses.
void append_token(const Facts& facts, int status, std::string& out);

// Reads a token back. Fails for anything that append_token cannot have written.
Result<void> parse_token(std::string_view token, Told& told);

}  // namespace suimon
