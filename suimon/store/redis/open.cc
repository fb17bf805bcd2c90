#include "suimon/store/redis/open.h"

#include <fstream>
#include <utility>

#include "suimon/store/redis/single.h"

namespace suimon::redis {
namespace {

// The first line of a file that holds a password.
Result<std::string> read_password(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.empty()) {
    return failure("password file " + path + " cannot be read, or is empty; name a file whose " +
                   "first line is the password");
  }
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  if (text.empty() || text.size() > kMost) {
    return failure("password file " + path +
                   ": its first line must be the password, of 1 to 4096 " + "bytes");
  }
  return text;
}

Result<LinkOptions> link_options(const Url& url) {
  LinkOptions options;
  options.timeout = url.timeout;
  options.connect_timeout = url.connect_timeout;
  options.user = url.user;
  options.password = url.password;
  options.database = url.db;
  options.tls_server_name = url.tls_server_name;
  if (!url.password_file.empty()) {
    auto password = read_password(url.password_file);
    if (!password) return tl::unexpected(password.error());
    options.password = std::move(*password);
  }
  if (url.tls) {
    auto tls =
        net::Tls::load_client({.ca = url.tls_ca, .certificate = url.tls_cert, .key = url.tls_key});
    if (!tls) return tl::unexpected(tls.error());
    options.tls = std::move(*tls);
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<Servers>> open_servers(const Url& url, net::Loop& loop) {
  const auto options = link_options(url);
  if (!options) return tl::unexpected(options.error());
  switch (url.kind) {
    case Url::Kind::single:
      break;
    case Url::Kind::sentinel:
    case Url::Kind::cluster:
      return failure("Sentinels and clusters are not in this version");
  }
  return std::make_unique<SingleServer>(loop, url.endpoints.front(), *options);
}

Result<std::unique_ptr<Servers>> open_servers(std::string_view text, net::Loop& loop,
                                              std::string password) {
  auto url = parse_url(text);
  if (!url) return tl::unexpected(url.error());
  if (!password.empty()) {
    url->password = std::move(password);
    url->password_file.clear();
  }
  return open_servers(*url, loop);
}

}  // namespace suimon::redis
