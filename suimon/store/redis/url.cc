#include "suimon/store/redis/url.h"

#include <sys/un.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "suimon/base/text.h"

namespace suimon::redis {
namespace {

constexpr std::size_t kMostEndpoints = 64;
constexpr std::size_t kMostPrefix = 64;
constexpr std::size_t kMostHost = 255;
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr Duration kLeastTime = std::chrono::milliseconds(1);
constexpr Duration kMostTime = std::chrono::minutes(1);

constexpr std::string_view kForms =
    "redis://[user:password@]host[:port][/db], redis+unix:///path, "
    "redis-sentinel://host[:port],…/name[/db] or redis-cluster://host[:port],…";

struct Scheme {
  std::string_view name;
  Url::Kind kind;
  bool tls;
  bool unix_socket;
};
constexpr Scheme kSchemes[] = {
    {"redis", Url::Kind::single, false, false},
    {"rediss", Url::Kind::single, true, false},
    {"redis+unix", Url::Kind::single, false, true},
    {"redis-sentinel", Url::Kind::sentinel, false, false},
    {"rediss-sentinel", Url::Kind::sentinel, true, false},
    {"redis-cluster", Url::Kind::cluster, false, false},
    {"rediss-cluster", Url::Kind::cluster, true, false},
};

// The URL as it may be shown: who may read a log may not know the password.
std::string shown(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::string(text);
  const std::size_t mark = text.find("://");
  const bool scheme = mark < at && text.find_first_of(":@") == mark;
  const std::size_t begin = scheme ? mark + 3 : 0;
  return std::string(text.substr(0, begin)) + "***" + std::string(text.substr(at));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Url> parse() {
    const std::size_t mark = text_.find("://");
    const std::string_view name = text_.substr(0, std::min(mark, text_.size()));
    const auto* const scheme =
        std::find_if(std::begin(kSchemes), std::end(kSchemes),
                     [&](const Scheme& known) { return known.name == name; });
    if (mark == std::string_view::npos || scheme == std::end(kSchemes)) {
      return wrong("has no scheme that is known; write " + std::string(kForms));
    }
    url_.kind = scheme->kind;
    url_.tls = scheme->tls;
    std::string_view rest = text_.substr(mark + 3);
    const std::size_t question = std::min(rest.find('?'), rest.size());
    std::string_view options = rest.substr(question);
    rest = rest.substr(0, question);
    const bool good = read_user(rest) &&
                      (scheme->unix_socket ? read_path(rest) : read_place(rest)) &&
                      (options.empty() || read_options(options.substr(1))) && check();
    if (!good) return wrong(mistake_);
    return std::move(url_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& why) const {
    return failure("store \"" + shown(text_) + "\": " + why);
  }
  bool mistake(std::string why) {
    mistake_ = std::move(why);
    return false;
  }

  // A piece of the URL as it may be shown. Where an @ stands behind the user and password that were
  // read, it may be part of one: of somebody who has not encoded its /, ? or @.
  std::string quote(std::string_view text) const {
    if (text_.find('@', user_end_) != std::string_view::npos) return "\"***\"";
    return "\"" + std::string(text) + "\"";
  }

  // Percent-decoding (RFC 3986 section 2.1).
  std::optional<std::string> decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      const auto byte = parse_number<unsigned>(text.substr(i + 1, 2), 16);
      if (text.size() - i < 3 || !byte || *byte == 0) return std::nullopt;
      out += static_cast<char>(*byte);
      i += 2;
    }
    return out;
  }

  bool read_user(std::string_view& rest) {
    const std::size_t at = rest.substr(0, rest.find('/')).rfind('@');
    if (at == std::string_view::npos) return true;
    const std::string_view who = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const std::size_t colon = who.find(':');
    if (colon == std::string_view::npos) {
      return mistake("names a user without a password; write user:password@, or :password@ alone");
    }
    const auto user = decoded(who.substr(0, colon));
    const auto password = decoded(who.substr(colon + 1));
    if (!user || !password) {
      return mistake(
          "has a % in its user or password that is not followed by two hexadecimal "
          "digits; write %25 for a percent sign");
    }
    url_.user = *user;
    url_.password = *password;
    user_end_ = static_cast<std::size_t>(rest.data() - text_.data());
    return true;
  }

  bool read_path(std::string_view rest) {
    const auto path = decoded(rest);
    if (!path || path->size() < 2 || path->front() != '/') {
      return mistake("names no socket; write redis+unix:///path/to/socket");
    }
    if (path->size() >= sizeof(sockaddr_un::sun_path)) {
      return mistake("has a path that is longer than the 107 bytes of a socket's path");
    }
    url_.endpoints.push_back({.host = {}, .port = 0, .path = *path});
    return true;
  }

  bool read_place(std::string_view rest) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view hosts = rest.substr(0, slash);
    std::string_view path = rest.substr(slash);
    if (!path.empty()) path.remove_prefix(1);
    for (;;) {
      const std::size_t comma = std::min(hosts.find(','), hosts.size());
      if (!read_host(hosts.substr(0, comma))) return false;
      if (comma == hosts.size()) break;
      hosts.remove_prefix(comma + 1);
    }
    if (url_.kind == Url::Kind::single && url_.endpoints.size() > 1) {
      return mistake("names several servers; redis-cluster:// and redis-sentinel:// do");
    }
    if (url_.kind == Url::Kind::sentinel) {
      const std::size_t end = std::min(path.find('/'), path.size());
      const auto name = decoded(path.substr(0, end));
      if (!name || name->empty()) {
        return mistake("does not say which master; write redis-sentinel://host:26379/name");
      }
      url_.master = *name;
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    return path.empty() || read_db(path);
  }

  bool read_host(std::string_view text) {
    const std::string quoted = quote(text);
    std::string_view host = text;
    std::string_view port;
    if (host.starts_with('[')) {
      const std::size_t end = host.find(']');
      if (end == std::string_view::npos) return mistake("has an address without its ]: " + quoted);
      port = host.substr(end + 1);
      host = host.substr(1, end - 1);
      if (!port.empty() && port.front() != ':') return mistake("has no port behind ]: " + quoted);
    } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
      port = host.substr(colon);
      host = host.substr(0, colon);
      if (port.find(':', 1) != std::string_view::npos) {
        return mistake("has an IPv6 address without brackets: " + quoted + "; write [::1]:6379");
      }
    }
    // What a name may hold is the resolver's to say; blanks and control characters never.
    const bool odd = std::any_of(host.begin(), host.end(), [](char c) {
      return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '[' || c == '@';
    });
    if (host.empty() || host.size() > kMostHost || odd) {
      return mistake("has no host in " + quoted + "; write " + std::string(kForms));
    }
    net::Endpoint endpoint;
    endpoint.host = host;
    endpoint.port = url_.kind == Url::Kind::sentinel ? kSentinelPort : kRedisPort;
    if (!port.empty()) {
      const auto number = parse_number<std::uint16_t>(port.substr(1));
      if (!number || *number == 0) {
        return mistake("has a port that is no number from 1 to 65535: " + quoted);
      }
      endpoint.port = *number;
    }
    if (url_.endpoints.size() == kMostEndpoints) return mistake("names more than 64 servers");
    url_.endpoints.push_back(std::move(endpoint));
    return true;
  }

  bool read_db(std::string_view text) {
    const auto db = parse_number<std::uint16_t>(text);
    if (!db) {
      return mistake("has a database " + quote(text) + " that is no number from 0 to " + "65535");
    }
    url_.db = *db;
    return true;
  }

  bool read_options(std::string_view options) {
    while (!options.empty()) {
      const std::size_t end = std::min(options.find('&'), options.size());
      const std::string_view one = options.substr(0, end);
      options.remove_prefix(std::min(end + 1, options.size()));
      const std::size_t equal = std::min(one.find('='), one.size());
      const std::string_view name = one.substr(0, equal);
      if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
        return mistake("says " + quote(name) + " twice");
      }
      seen_.push_back(name);
      const auto value = decoded(one.substr(std::min(equal + 1, one.size())));
      if (!value || value->empty()) {
        return mistake("has an option " + quote(one) + "; write name=value, with %25 " +
                       "for a percent sign");
      }
      if (!read_option(name, *value)) return false;
    }
    return true;
  }

  bool read_option(std::string_view name, const std::string& value) {
    if (name == "timeout") return read_time(name, value, url_.timeout);
    if (name == "connect_timeout") return read_time(name, value, url_.connect_timeout);
    if (name == "db") return read_db(value);
    if (name == "shards") return read_shards(value);
    if (name == "prefix") return read_prefix(value);
    const std::pair<std::string_view, std::string*> texts[] = {
        {"password_file", &url_.password_file},
        {"sentinel_password_file", &url_.sentinel_password_file},
        {"tls_ca", &url_.tls_ca},
        {"tls_cert", &url_.tls_cert},
        {"tls_key", &url_.tls_key},
        {"tls_server_name", &url_.tls_server_name},
    };
    for (const auto& [known, text] : texts) {
      if (name != known) continue;
      *text = value;
      return true;
    }
    return mistake("has an unknown option " + quote(name) +
                   "; known are timeout, connect_timeout, db, shards, prefix, password_file, "
                   "sentinel_password_file, tls_ca, tls_cert, tls_key and tls_server_name");
  }

  bool read_time(std::string_view name, std::string_view value, Duration& time) {
    std::optional<std::int64_t> number;
    Duration unit = std::chrono::milliseconds(1);
    if (value.ends_with("ms")) {
      number = parse_number<std::int64_t>(value.substr(0, value.size() - 2));
    } else if (value.ends_with("s")) {
      unit = std::chrono::seconds(1);
      number = parse_number<std::int64_t>(value.substr(0, value.size() - 1));
    }
    if (!number || *number < 0 || *number > kMostTime / kLeastTime || unit * *number < kLeastTime ||
        unit * *number > kMostTime) {
      return mistake("has " + std::string(name) + "=" + quote(value) +
                     "; write a time from 1ms to 60s, such as " + std::string(name) + "=50ms");
    }
    time = unit * *number;
    return true;
  }

  bool read_shards(std::string_view value) {
    const auto shards = parse_number<unsigned>(value);
    if (!shards || *shards == 0 || *shards > 1024) {
      return mistake("has shards=" + quote(value) + "; write a number from 1 to 1024");
    }
    url_.shards = *shards;
    return true;
  }

  bool read_prefix(const std::string& value) {
    // Between { and } stands what tells the slot of a key.
    if (value.size() > kMostPrefix || value.find_first_of("{}") != std::string::npos) {
      return mistake("has a prefix that is longer than 64 bytes or holds { or }");
    }
    url_.prefix = value;
    return true;
  }

  bool check() {
    if (!url_.password_file.empty() && !url_.password.empty()) {
      return mistake("has a password and password_file; write one of them");
    }
    if (url_.kind != Url::Kind::sentinel && !url_.sentinel_password_file.empty()) {
      return mistake("has sentinel_password_file, and no Sentinels");
    }
    if (url_.kind == Url::Kind::cluster && url_.db != 0) {
      return mistake("names a database, and a cluster has only number 0");
    }
    if (url_.tls_cert.empty() != url_.tls_key.empty()) {
      return mistake("needs both tls_cert and tls_key, or none of them");
    }
    const bool tls_options =
        !url_.tls_ca.empty() || !url_.tls_cert.empty() || !url_.tls_server_name.empty();
    if (tls_options && !url_.tls) {
      return mistake(
          "has options for TLS, and goes without it; write rediss://, "
          "rediss-sentinel:// or rediss-cluster://");
    }
    return true;
  }

  std::string_view text_;
  Url url_;
  std::string mistake_;
  std::size_t user_end_ = 0;  // where in text_ the user and password end; 0: none were read
  std::vector<std::string_view> seen_;
};

}  // namespace

Result<Url> parse_url(std::string_view text) { return Parser(text).parse(); }

}  // namespace suimon::redis
