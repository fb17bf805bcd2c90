// Lists of proxies by name: those that ship with the program (data/proxies/NAME.txt) and how such a
// file is read.
//
// They are compiled in: the program stays one file, `validate` works wherever it is copied to, and
// a program never meets the list of another version. Thread rule: constants and pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/base/address.h"

namespace suimon {

struct ProxyList {
  std::string_view name;
  std::string_view text;
};

// In the order of their names.
std::span<const ProxyList> shipped_proxy_lists();

struct ListMistake {
  int line = 0;  // from 1
  std::string text;
};

// Reads one address or range a line; "#" begins a comment. What is no range goes to `mistakes`.
std::vector<AddressRange> read_proxy_list(std::string_view text,
                                          std::vector<ListMistake>& mistakes);

}  // namespace suimon
