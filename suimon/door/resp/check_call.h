// SUIMON.CHECK domain cost attribute value [attribute value ...]: the policy's limits, asked over
// the Redis protocol.
//
// Thread rule: one thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/door/resp/replies.h"
#include "suimon/engine/engine.h"

namespace suimon::door {

// Checks that are asked together. Their views are into the words that they were read from.
class CheckCalls {
 public:
  // Reads the words of one more, its name included. False: `error` is what to answer. Requires
  // room.
  bool add(std::span<const std::string_view> words, std::string& error);
  bool is_empty() const { return size_ == 0; }
  bool is_full() const { return size_ == requests_.size(); }
  std::span<const Request> requests() const { return {requests_.data(), size_}; }
  void clear() { size_ = 0; }

 private:
  std::size_t size_ = 0;
  std::array<Request, Engine::kMostRequests> requests_;
  std::array<std::vector<Attribute>, Engine::kMostRequests> attributes_;
};

// Appends what the client hears of a verdict: 1 when it is allowed, else 0; the limit that binds
// (null when none applies); its tokens that remain (-1 when none applies); the milliseconds until
// the same request would pass (-1: now, or never) and those until the bucket is full. Or an error,
// when there is no verdict.
void append_check_reply(const Verdict& verdict, Resp version, std::string& out);

}  // namespace suimon::door
