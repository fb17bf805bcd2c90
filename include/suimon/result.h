// A value or the reason why there is none.
//
// "No" to a request is an answer (a Decision), not an error: an Error says that something could
// not be done at all, where, what was read, and what would be right.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace suimon {

struct Error {
  std::string text;  // one sentence for a person: where, what was read, what would be right
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(std::string text) {
  return tl::unexpected<Error>(Error{std::move(text)});
}

}  // namespace suimon
