#include "suimon/door/admin_tokens.h"

#include <algorithm>

#include "suimon/base/text.h"
#include "suimon/core/identity.h"

namespace suimon::door {
namespace {

constexpr std::size_t kLongestName = 64;

constexpr bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// b64token of RFC 6750 section 2.1.
bool is_token(std::string_view text) {
  const std::string_view body = text.substr(0, text.find_last_not_of('=') + 1);
  return !body.empty() && std::all_of(body.begin(), body.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("-._~+/").find(c) != std::string_view::npos;
  });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

Hash128 hash_of(const SipKey& key, std::string_view token) { return siphash128<2, 4>(key, token); }

}  // namespace

Result<AdminTokens> AdminTokens::parse(std::string_view text) {
  AdminTokens tokens;
  tokens.key_ = random_secret().key;
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = "line " + std::to_string(number);
    const auto colon = line.find(':');
    const bool named = colon != std::string_view::npos;
    const std::string name =
        named ? std::string(line.substr(0, colon)) : "line-" + std::to_string(number);
    const std::string_view token = named ? line.substr(colon + 1) : line;
    if (!is_name(name)) {
      return failure(place + ": the name before \":\" must be 1 to 64 of A-Z a-z 0-9 . _ -");
    }
    if (token.size() < kShortest || token.size() > kLongest || !is_token(token)) {
      return failure(place +
                     ": a token is 16 to 512 of A-Z a-z 0-9 - . _ ~ + / with = at its end only; "
                     "make one with: openssl rand -hex 32");
    }
    if (tokens.who(token)) return failure(place + ": this token stands in the file twice");
    if (tokens.known_.size() == kMost) return failure(place + ": 64 tokens are the most");
    tokens.known_.push_back({name, hash_of(tokens.key_, token)});
  }
  if (tokens.empty()) {
    return failure("there is no token in it; write one a line, such as deploy:TOKEN");
  }
  return tokens;
}

std::optional<std::string_view> AdminTokens::who(std::string_view token) const {
  const Hash128 hash = hash_of(key_, token);
  const Known* found = nullptr;
  for (const Known& known : known_) {
    const std::uint64_t differs = (known.hash.high ^ hash.high) | (known.hash.low ^ hash.low);
    found = differs == 0 ? &known : found;
  }
  if (found == nullptr) return std::nullopt;
  return found->name;
}

}  // namespace suimon::door
