#include "apps/suimon/secret.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "suimon/core/key_text.h"
#include "suimon/net/fd.h"

namespace suimon::app {
namespace {

constexpr std::size_t kDigits = 32;
// A pipe must not hold up the start; a link is fine, as Kubernetes mounts its secrets by links.
constexpr int kHow = O_CLOEXEC | O_NONBLOCK;

tl::unexpected<Error> cannot(std::string_view what, const std::string& path) {
  return failure(fmt::format("secret file {} cannot be {}: {}", path, what, std::strerror(errno)));
}

Result<Secret> read_secret(const net::Fd& file, const std::string& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return cannot("read", path);
  if (!S_ISREG(status.st_mode)) return failure("secret file " + path + " is not a regular file");
  if ((status.st_mode & 077) != 0) {
    return failure(fmt::format("secret file {0} may be read by others; run chmod 600 {0}", path));
  }
  char text[kDigits + 2] = {};
  const ssize_t length = ::read(file.get(), text, sizeof text);
  std::string_view digits(text, length < 0 ? 0 : static_cast<std::size_t>(length));
  if (digits.ends_with('\n')) digits.remove_suffix(1);
  const auto key = parse_key_text(digits);
  if (!key) {
    return failure(
        fmt::format("secret file {} does not hold 32 hexadecimal digits; "
                    "write the secret that it should have, such as openssl rand -hex 16 makes",
                    path));
  }
  return Secret{{key->high, key->low}};
}

}  // namespace

std::string default_secret_path() {
  if (const char* state = std::getenv("STATE_DIRECTORY"); state != nullptr && *state != '\0') {
    const std::string_view first(state, std::strcspn(state, ":"));  // systemd may name several
    return std::string(first) + "/secret";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.local/state/suimon/secret";
  }
  return {};
}

// A core size of 0 would not do: the system does not ask for it where a program collects the dumps.
void keep_memory_private() { ::prctl(PR_SET_DUMPABLE, 0); }

Result<Secret> load_secret(const std::string& path) {
  const net::Fd file{::open(path.c_str(), O_RDONLY | kHow)};
  if (!file) return cannot("read", path);
  return read_secret(file, path);
}

Result<Secret> load_or_make_secret(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) return load_secret(path);

  std::error_code ignored;  // the open below says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const Secret secret = random_secret();
  const std::string text = key_text({secret.key.k0, secret.key.k1}) + "\n";
  // Written beside and then linked into place, so that nobody ever reads half a secret and of
  // two processes that start at once both use the same.
  const std::string beside = fmt::format("{}.{:016x}", path, random_secret().key.k0);
  net::Fd file{::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | kHow, 0600)};
  if (!file) return cannot("made", path);
  const bool written =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0;
  const bool linked = written && (::link(beside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  ::unlink(beside.c_str());
  if (!linked) {
    errno = why;
    return cannot("made", path);
  }
  return load_secret(path);
}

}  // namespace suimon::app
