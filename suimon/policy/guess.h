// Which word was probably meant by one that does not exist.
//
// Thread rule: pure functions. Complexity: O(words * length * length), words of at most 64 bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace suimon {

// The known word that `read` probably stands for: by what others call the same thing, else by
// spelling. Nothing when none is near.
std::optional<std::string_view> probably_meant(std::string_view read,
                                               std::span<const std::string_view> known);

// "capacity, refill, tier"; of a long list the first twelve "and others".
std::string listed(std::span<const std::string_view> words);

// "did you mean `refill`?", or when nothing is near "known are capacity, refill, tier".
std::string advice(std::string_view read, std::span<const std::string_view> known);

}  // namespace suimon
