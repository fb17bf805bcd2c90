// What may stand where in an HTTP/1.1 message, as far as two parties could read it differently.
//
// Thread rule: pure functions. Complexity: linear in the text.
#pragma once

#include <string_view>

namespace suimon::door {

// Whether a list of tokens between commas has this one, in any case: that of Connection.
bool lists_token(std::string_view list, std::string_view lower_case_token);

// "HTTP/2.0": well formed, whether we speak it or not.
bool is_version(std::string_view text);

// origin-form, absolute-form of what is served here, and the asterisk (RFC 9112 section 3.2). The
// target is not empty.
bool is_target(std::string_view target, std::string_view method);

// uri-host [ ":" port ] (RFC 9112 section 3.2).
bool is_host(std::string_view value);

// *( ";" name [ "=" value ] ) (RFC 9112 section 7.1.1), without white space. They are read over,
// but a quote that does not end could make another party look for its end on the lines that follow.
bool is_extensions(std::string_view text);

}  // namespace suimon::door
