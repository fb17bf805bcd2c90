#include "suimon/door/http_grammar.h"

#include <algorithm>

#include "suimon/base/text.h"
#include "suimon/door/http_bytes.h"

namespace suimon::door {

bool lists_token(std::string_view list, std::string_view lower_case_token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (equal_ignoring_case(trimmed(list.substr(0, comma)), lower_case_token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

bool is_version(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' &&
         digit(text[7]);
}

bool is_target(std::string_view target, std::string_view method) {
  if (target.find('#') != std::string_view::npos) return false;  // nobody agrees where it ends
  if (target.front() == '/') return true;
  if (target == "*") return method == "OPTIONS";
  const std::size_t scheme = std::min(target.find("://"), target.size());
  return equal_ignoring_case(target.substr(0, scheme), "http") ||
         equal_ignoring_case(target.substr(0, scheme), "https");
}

bool is_host(std::string_view value) {
  return value.find_first_of(" \t/\\@?#\"<>,") == std::string_view::npos;
}

bool is_extensions(std::string_view text) {
  while (!text.empty()) {
    if (text.front() != ';') return false;
    text.remove_prefix(1);
    const std::size_t name = token_length(text);
    if (name == 0) return false;
    text.remove_prefix(name);
    if (text.empty() || text.front() != '=') continue;
    text.remove_prefix(1);
    std::size_t value = token_length(text);
    if (text.starts_with('"')) {
      for (value = 1; value < text.size() && text[value] != '"'; ++value) {
        if (text[value] == '\\') ++value;
      }
      if (++value > text.size()) return false;
    }
    if (value == 0) return false;
    text.remove_prefix(value);
  }
  return true;
}

}  // namespace suimon::door
