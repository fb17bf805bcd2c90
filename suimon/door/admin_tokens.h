// The bearer tokens (RFC 6750) of those who may change state by the admin listener.
//
// Tokens are kept and compared as 128-bit hashes under a key of this run, all of them each time:
// how long a comparison takes says nothing about a token, and no token stays in memory.
// Thread rule: values; immutable once made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/siphash.h"
#include "suimon/result.h"

namespace suimon::door {

class AdminTokens {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kShortest = 16;  // bytes of a token
  static constexpr std::size_t kLongest = 512;

  // No tokens: nobody may change anything.
  AdminTokens() = default;

  // One token a line, by itself or as "name:token"; empty lines and lines that begin with # do not
  // count. A token without a name is called after its line: "line-3". A mistake is named with its
  // line, never with the token.
  static Result<AdminTokens> parse(std::string_view text);

  bool empty() const { return known_.empty(); }

  // Whose token this is; nothing for one that is not known.
  std::optional<std::string_view> who(std::string_view token) const;

 private:
  struct Known {
    std::string name;
    Hash128 hash;
  };

  SipKey key_;
  std::vector<Known> known_;
};

}  // namespace suimon::door
