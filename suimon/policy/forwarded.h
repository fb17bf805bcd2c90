// The Forwarded field: which proxies a request has passed, read from its end.
//
// Every proxy appends an element that says for whom it forwards, so the last ones come from the
// proxies that we know and the first ones from anybody. The list is therefore cut from the right:
// what strangers wrote on the left, open quotes included, changes nothing about what stands right
// of it. Source: RFC 7239. Thread rule: pure functions. Complexity: O(bytes taken).
#pragma once

#include <optional>
#include <string_view>

#include "suimon/base/address.h"

namespace suimon {

// Takes the last element off `list`, without the blanks around it; commas within quotes do not
// separate.
std::string_view pop_last_forwarded(std::string_view& list);

// The address in the element's one `for=`: an IPv4 address, or an IPv6 address in brackets, quoted
// or not, with a port or without. Nothing for "unknown", hidden names such as "_gazonk", and
// whatever the RFC does not allow.
std::optional<Address> forwarded_for(std::string_view element);

}  // namespace suimon
