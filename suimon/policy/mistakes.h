// Where the loader collects what is wrong with a policy file.
//
// Thread rule: for one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/loader.h"

namespace suimon {

// A place in a file. Line and column count from 1, the column in characters; 0 is no place.
struct Place {
  int line = 0;
  int column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// "3:5"
std::string to_string(Place place);

// `text` with control characters escaped: they could dress up a terminal or a log.
std::string printable(std::string_view text);

// `text` as a sentence quotes it: printable, between backquotes, at most 60 bytes of it.
std::string shown(std::string_view text);

class Mistakes {
 public:
  // A file tells at most this many mistakes, and as many warnings; the last says that there are
  // more.
  static constexpr std::size_t kMost = 100;

  explicit Mistakes(std::string_view file) : file_(file) {}

  void add(Place at, std::string text) { append(mistakes_, at, std::move(text)); }
  void warn(Place at, std::string text) { append(warnings_, at, std::move(text)); }
  // Whether a further mistake would not be told, so that looking for one is in vain.
  bool full() const { return mistakes_.size() >= kMost; }

  // Moves everything, in the order of places, to the end of `out`.
  void hand_over(Loaded& out);

 private:
  void append(std::vector<Mistake>& list, Place at, std::string text);

  std::string file_;
  std::vector<Mistake> mistakes_;
  std::vector<Mistake> warnings_;
};

}  // namespace suimon
