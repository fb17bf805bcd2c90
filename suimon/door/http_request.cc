#include "suimon/door/http_request.h"

#include <algorithm>

#include "suimon/base/text.h"

namespace suimon::door {

std::string_view HttpRequest::path() const {
  std::string_view path = target;
  const std::size_t scheme = path.find("://");
  if (!path.starts_with('/') && scheme != std::string_view::npos) {
    path.remove_prefix(scheme + 3);
    path.remove_prefix(std::min(path.find_first_of("/?"), path.size()));
    if (!path.starts_with('/')) return "/";
  }
  return path.substr(0, path.find('?'));
}

std::string_view HttpRequest::query() const {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

std::string_view HttpRequest::field(std::string_view lower_case_name) const {
  for (const HttpField& f : fields) {
    if (equal_ignoring_case(f.name, lower_case_name)) return f.value;
  }
  return {};
}

std::size_t HttpRequest::count(std::string_view lower_case_name) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(),
      [&](const HttpField& f) { return equal_ignoring_case(f.name, lower_case_name); }));
}

void HttpRequest::joined(std::string_view lower_case_name, std::string& out) const {
  bool first = true;
  for (const HttpField& f : fields) {
    if (!equal_ignoring_case(f.name, lower_case_name)) continue;
    if (!first) out += ", ";
    first = false;
    out += f.value;
  }
}

}  // namespace suimon::door
