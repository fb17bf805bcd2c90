#include "apps/suimon/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "suimon/core/identity.h"
#include "suimon/net/fd.h"
#include "suimon/policy/document.h"
#include "suimon/policy/loader.h"

namespace suimon::app {
namespace {

// It tells a file from its earlier self and from nothing else, so the key is no secret.
constexpr SipKey kKey{0x7375696d6f6e2031, 0x66696e6765722031};

void append_hash(std::string& all, std::string_view text) {
  const Hash128 hash = siphash128<2, 4>(kKey, text);
  all.append(reinterpret_cast<const char*>(&hash), sizeof hash);
}

// The contents, or in their place why there are none.
std::string contents_of(const std::string& file) {
  const net::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (!fd || ::fstat(fd.get(), &about) != 0) return "error " + std::to_string(errno);
  if (!S_ISREG(about.st_mode)) return "no file";
  std::string text;
  std::string buffer(std::size_t{64} << 10, '\0');
  while (text.size() <= kMostDocumentBytes) {
    const ::ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

Hash128 content_fingerprint(const std::string& path) {
  std::string all;
  for (const std::string& file : policy_files(path)) {
    append_hash(all, file);
    append_hash(all, contents_of(file));
  }
  return siphash128<2, 4>(kKey, all);
}

Hash128 stat_fingerprint(const std::string& path) {
  std::string all;
  for (const std::string& file : policy_files(path)) {
    append_hash(all, file);
    struct stat about{};
    if (::stat(file.c_str(), &about) != 0) continue;
    for (const auto part :
         {static_cast<std::int64_t>(about.st_dev), static_cast<std::int64_t>(about.st_ino),
          static_cast<std::int64_t>(about.st_size), static_cast<std::int64_t>(about.st_mode),
          static_cast<std::int64_t>(about.st_mtim.tv_sec),
          static_cast<std::int64_t>(about.st_mtim.tv_nsec)}) {
      all.append(reinterpret_cast<const char*>(&part), sizeof part);
    }
  }
  return siphash128<2, 4>(kKey, all);
}

}  // namespace suimon::app
