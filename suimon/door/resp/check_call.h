// SUIMON.CHECK domain cost attribute value [attribute value ...]: the policy's limits, asked over
// the Redis protocol.
//
// Thread rule: pure functions over a caller's buffers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/door/resp/replies.h"
#include "suimon/engine/verdict.h"

namespace suimon::door {

// Reads the words of a check, its name included, into `request`, whose attributes lie in
// `attributes`. False: `error` is what to answer.
bool read_check(std::span<const std::string_view> words, std::vector<Attribute>& attributes,
                Request& request, std::string& error);

// Appends what the client hears of a verdict: 1 when it is allowed, else 0; the limit that binds
// (null when none applies); its tokens that remain (-1 when none applies); the milliseconds until
// the same request would pass (-1: now, or never) and those until the bucket is full. Or an error,
// when there is no verdict.
void append_check_reply(const Verdict& verdict, Resp version, std::string& out);

}  // namespace suimon::door
