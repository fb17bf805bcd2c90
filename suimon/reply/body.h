// The bodies of answers: JSON for a check, and problems (RFC 9457) for refusals and mistakes.
//
// Thread rule: pure functions that append to `out`.
#pragma once

#include <string>
#include <string_view>

#include "suimon/reply/facts.h"
#include "suimon/reply/locale.h"

namespace suimon {

// {"allowed": ..., "binding": ..., "remaining": ..., "retry_after_ms": ..., "reset_after_ms": ...,
// "limits": [...]}. Waits are rounded up to milliseconds. `extra` is put in as it is, a run of
// members that begins with a comma.
void append_check_body(const Facts& facts, std::string& out, std::string_view extra = {});

// A refusal: the members of a check, type, title, status, violated-policies, and `error`: one
// sentence in the language of `locale` with the wait and the cure. It calls the binding limit by
// its title in that language, else in the policy's language, else by its name. Limits that are not
// advertised are named only where they refused, shadow limits never. Requires a refused verdict.
void append_refusal_body(const Facts& facts, int status, const Locale& locale, std::string& out,
                         std::string_view extra = {});

// A refusal of which nothing more is known.
void append_plain_refusal_body(int status, const Locale& locale, std::string& out);

// suimon itself cannot decide: 503, never 429.
void append_overloaded_body(const Locale& locale, std::string_view reason, std::string& out);

// A request that suimon cannot read: `detail` says where, what was read and what would be right.
// In English: it is for the programmer of the caller, not for the caller's user.
void append_mistake_body(int status, std::string_view title, std::string_view detail,
                         std::string& out);

}  // namespace suimon
