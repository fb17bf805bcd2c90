#include "suimon/replay/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace suimon {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";

// A file that is closed again, unless it is standard input.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ > STDIN_FILENO) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

tl::unexpected<Error> unreadable(const std::string& name, int error) {
  return failure(name + ": cannot be read: " + std::generic_category().message(error));
}

tl::unexpected<Error> compressed(const std::string& name) {
  return failure(name +
                 ": compressed logs are not read in this version; pipe the text in, as in "
                 "zcat access.log.gz | suimon replay --config FILE -");
}

}  // namespace

Result<LogFile> read_log(const std::string& path, std::uint64_t most_bytes) {
  LogFile log{path == "-" ? "standard input" : path, {}};
  const Descriptor file(path);
  if (file.number() < 0) return unreadable(log.name, errno);

  // Room for one byte more than expected shows whether the file ends there.
  constexpr std::size_t kLeast = std::size_t{1} << 16;
  struct stat status{};
  std::size_t room = kLeast;
  if (::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    room = std::max<std::size_t>(kLeast, std::min(size, most_bytes) + 1);
  }
  std::size_t used = 0;
  for (;;) {
    if (used == log.text.size()) log.text.resize(used == 0 ? room : used + used / 2);
    const ssize_t got = ::read(file.number(), log.text.data() + used, log.text.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      return unreadable(log.name, errno);
    }
    if (got == 0) break;
    const bool first = used == 0;
    used += static_cast<std::size_t>(got);
    if (first && std::string_view(log.text.data(), used).starts_with(kGzip)) {
      return compressed(log.name);
    }
    if (used > most_bytes) {
      return failure(log.name + ": the logs together are longer than " +
                     std::to_string(most_bytes) +
                     " bytes, which is the most that one run reads; split them by time");
    }
  }
  log.text.resize(used);
  return log;
}

}  // namespace suimon
