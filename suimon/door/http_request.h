// A request of HTTP/1.1 as its bytes say it: views, which live as long as those bytes.
//
// Source: RFC 9110, 9112. Thread rule: values. Complexity: linear in the fields.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace suimon::door {

struct HttpField {
  std::string_view name, value;  // value without the white space around it
};

struct HttpRequest {
  std::string_view method, target;
  std::span<const HttpField> fields;
  std::string_view body;
  int minor = 1;  // of the version: HTTP/1.0 or HTTP/1.1
  bool keep_alive = true;

  // The target's path and what follows its "?": of "/a?b" as of "http://host/a?b" (RFC 9112
  // section 3.2.2) "/a" and "b".
  std::string_view path() const;
  std::string_view query() const;

  // The first field of this name (given in lower case; compared in any), "" if there is none.
  std::string_view field(std::string_view lower_case_name) const;
  std::size_t count(std::string_view lower_case_name) const;
  // Appends all lines of this name, joined by ", " (RFC 9110 section 5.3).
  void joined(std::string_view lower_case_name, std::string& out) const;
};

}  // namespace suimon::door
