#include "suimon/policy/pattern.h"

#include <algorithm>

#include "suimon/base/text.h"

namespace suimon {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::size_t kMostPath = 8192;  // as long as a request target may be

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What means the same with an escape and without: unreserved characters (RFC 3986 section 2.3),
// and those of a segment (section 3.3) that servers commonly decode before they route. Not "*",
// which a pattern needs, nor ";".
bool is_decoded(char c) {
  return is_alphanumeric(c) ||
         std::string_view("-._~:@!$&'()+,=").find(c) != std::string_view::npos;
}

// What may stand in a path as it is; everything else is written with an escape.
bool may_stand(char c) { return is_decoded(c) || c == '/' || c == '*' || c == ';'; }

// "http://host/path" -> "/path"; a target that begins with "/" or "*" stays.
std::string_view path_of(std::string_view target) {
  const auto scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    const auto slash = target.find_first_of("/?#", scheme + 3);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
    if (!target.starts_with('/')) return "/";
  }
  return target.substr(0, target.find_first_of("?#"));
}

bool decode(std::string_view path, std::string& out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    bool escaped = false;
    if (c == '%') {
      if (i + 2 >= path.size()) return false;
      const int high = hex_digit(path[i + 1]);
      const int low = hex_digit(path[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      escaped = true;
      i += 2;
    }
    if (escaped ? is_decoded(c) : may_stand(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return true;
}

// Merges slashes and removes dot segments, in place: what is written never overtakes what is read.
void clean_segments(std::string& path) {
  std::size_t written = 0;
  std::size_t at = 0;
  while (at < path.size()) {
    while (at < path.size() && path[at] == '/') ++at;
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment(path.data() + at, end - at);
    const bool last = end == path.size();
    if (segment == "..") {
      while (written > 0 && path[--written] != '/') {
      }
    }
    if (segment == "." || segment == "..") {
      if (last) path[written++] = '/';  // "/a/.." is the folder "/"
    } else {
      path[written++] = '/';
      std::copy(path.begin() + static_cast<std::ptrdiff_t>(at),
                path.begin() + static_cast<std::ptrdiff_t>(end),
                path.begin() + static_cast<std::ptrdiff_t>(written));
      written += segment.size();
    }
    at = end;
  }
  path.resize(written);
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
  // On a mismatch only the last '*' has to take one character more: the earlier ones already
  // stand as far left as they can.
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool normalize_path(std::string_view target, std::string& out) {
  out.clear();
  if (target == "*") {
    out = "*";
    return true;
  }
  const std::string_view path = path_of(target);
  if (!path.starts_with('/') || path.size() > kMostPath || !decode(path, out)) return false;
  clean_segments(out);
  return true;
}

void normalize_host(std::string_view host, std::string& out) {
  const std::size_t colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && colon > 0 && colon + 1 < host.size() &&
                    host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  // An IPv6 address without brackets has several colons and no port.
  if (port && (host.find(':') == colon || host[colon - 1] == ']')) host = host.substr(0, colon);
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  out.assign(host);
  for (char& c : out) c = ascii_lower(c);
}

Result<PathPattern> PathPattern::make(std::string_view pattern) {
  const std::string quoted = "\"" + std::string(pattern) + "\"";
  if (!pattern.starts_with('/')) {
    return failure("path " + quoted + " must begin with /, as in /v1/orders/**");
  }
  if (pattern.find_first_of("?#") != std::string_view::npos) {
    return failure("path " + quoted + ": paths are compared without their query; leave it out");
  }
  std::string clean;
  if (!normalize_path(pattern, clean)) {
    return failure("path " + quoted + " has a broken escape; write % and two hexadecimal digits");
  }
  PathPattern made;
  std::string_view rest = std::string_view(clean).substr(1);
  for (;;) {
    const auto slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment == "**") {
      if (made.segments_.empty() || !made.segments_.back().any_number) {
        made.segments_.push_back({"", true});
      }
    } else if (segment.find("**") != std::string_view::npos) {
      return failure("path " + quoted + ": ** stands for whole segments; write it between slashes");
    } else {
      made.segments_.push_back({std::string(segment), false});
    }
    if (slash == std::string_view::npos) return made;
    rest.remove_prefix(slash + 1);
  }
}

bool PathPattern::matches(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  // As glob_matches, with segments for characters. `at` is the start of the next segment, and
  // one past the end of the path when no segment is left.
  std::size_t p = 0;
  std::size_t at = 1;
  std::size_t star = std::string_view::npos;
  std::size_t star_at = 0;
  const auto next = [&](std::size_t from) {
    const auto slash = path.find('/', from);
    return slash == std::string_view::npos ? path.size() + 1 : slash + 1;
  };
  while (at <= path.size()) {
    if (p < segments_.size() && segments_[p].any_number) {
      star = p++;
      star_at = at;
    } else if (p < segments_.size() &&
               glob_matches(segments_[p].glob, path.substr(at, next(at) - 1 - at))) {
      ++p;
      at = next(at);
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = star_at = next(star_at);
    } else {
      return false;
    }
  }
  while (p < segments_.size() && segments_[p].any_number) ++p;
  return p == segments_.size();
}

std::string PathPattern::text() const {
  std::string written;
  for (const Segment& segment : segments_) {
    written += '/';
    written += segment.any_number ? "**" : segment.glob;
  }
  return written;
}

}  // namespace suimon
