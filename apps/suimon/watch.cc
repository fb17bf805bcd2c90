#include "apps/suimon/watch.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

#include "suimon/policy/loader.h"

namespace suimon::app {
namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::size_t kMostUnfinished = 64;
constexpr int kMostRounds = 8;
constexpr std::size_t kReadsPerWake = 16;

constexpr std::uint32_t kItself = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kMoved = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kEntries = kMoved | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;

// What was done to the directory, not to a name in it.
constexpr std::uint32_t kEnds =
    IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW;

bool is_policy_name(const std::string& name) {
  return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml"));
}

// Walks paths as the kernel does and notes what their meaning hangs on.
class Way {
 public:
  explicit Way(Watch::Wanted& wanted) : wanted_(wanted) {}

  // Where `path` leads; "" when something on the way is not there.
  std::string follow(const std::string& path) {
    std::deque<std::string> names;
    push_front(names, path);
    std::string at = start(path, ".");
    int links = 0;
    while (!names.empty()) {
      const std::string name = std::move(names.front());
      names.pop_front();
      std::string here = at;
      if (!here.ends_with('/')) here += '/';
      here += name;
      struct stat about{};
      if (::lstat(here.c_str(), &about) != 0) return note(at, name);
      if (S_ISLNK(about.st_mode)) {
        note(at, name);
        std::error_code error;
        const std::string target = std::filesystem::read_symlink(here, error).native();
        if (error || ++links > kMostLinks) return {};
        push_front(names, target);
        at = start(target, at);
        continue;
      }
      if (names.empty()) {
        note(at, name);
        return here;
      }
      if (!S_ISDIR(about.st_mode)) return note(at, name);
      at = std::move(here);
      directory(at);
    }
    return at;
  }

  // Null when there are more directories than are watched.
  Watch::Interest* directory(const std::string& at) {
    if (wanted_.size() >= Watch::kMostDirectories && !wanted_.contains(at)) return nullptr;
    return &wanted_[at];
  }

 private:
  static std::string start(const std::string& path, const std::string& otherwise) {
    return path.starts_with('/') ? "/" : otherwise;
  }

  static void push_front(std::deque<std::string>& names, const std::string& path) {
    std::deque<std::string> parts;
    for (const auto& part : std::filesystem::path(path)) {
      const std::string& name = part.native();
      if (!name.empty() && name != "." && name != "/") parts.push_back(name);
    }
    names.insert(names.begin(), parts.begin(), parts.end());
  }

  std::string note(const std::string& at, const std::string& name) {
    if (Watch::Interest* interest = directory(at)) interest->names.insert(name);
    return {};
  }

  Watch::Wanted& wanted_;
};

Watch::Wanted way_to(const std::string& path) {
  Watch::Wanted wanted;
  Way way(wanted);
  const std::string end = way.follow(path);
  std::error_code error;
  if (end.empty() || !std::filesystem::is_directory(end, error)) return wanted;
  if (Watch::Interest* interest = way.directory(end)) interest->policies = true;
  for (const std::string& file : policy_files(end)) {
    if (std::filesystem::is_symlink(file, error)) way.follow(file);
  }
  return wanted;
}

}  // namespace

bool Watch::Interest::covers(const std::string& name) const {
  return names.contains(name) || (policies && is_policy_name(name));
}

void Watch::Interest::add(const Interest& other) {
  names.insert(other.names.begin(), other.names.end());
  policies = policies || other.policies;
}

Watch::Watch(net::Loop& loop, std::string path, std::function<void()> changed)
    : loop_(loop),
      path_(std::move(path)),
      changed_(std::move(changed)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (!inotify_ || !loop_.watch(inotify_.get(), EPOLLIN, this)) {
    trouble_ = "the system gives no inotify: " + std::generic_category().message(errno);
    return;
  }
  walk_again();
}

Watch::~Watch() {
  if (inotify_) loop_.unwatch(inotify_.get(), this);
}

// Something may move between the walk and the watching of it, so both go on until they agree.
void Watch::walk_again() {
  Wanted before;
  for (int round = 0; round < kMostRounds; ++round) {
    Wanted wanted = way_to(path_);
    if (round > 0 && wanted == before) return;
    if (wanted.size() >= kMostDirectories) {
      trouble_ = "the links of the policy lead through too many directories";
    }
    if (!watch_all(wanted)) wanted.clear();
    before = std::move(wanted);
  }
}

// False when a directory went away meanwhile.
bool Watch::watch_all(const Wanted& wanted) {
  std::map<int, Interest> watched;
  bool all = true;
  for (const auto& [directory, interest] : wanted) {
    const auto watch = [this, &directory](const Interest& what) {
      return ::inotify_add_watch(inotify_.get(), directory.c_str(),
                                 kItself | (what.any() ? kEntries : 0));
    };
    const int number = watch(interest);
    if (number >= 0) {
      Interest& known = watched[number];  // two ways may lead to one directory
      const Interest before = known;
      known.add(interest);
      if (before.any() && !interest.any()) watch(known);
    } else if (errno == ENOENT || errno == ENOTDIR) {
      all = false;
    } else if (interest.any() || errno == ENOSPC || errno == ENOMEM) {
      // A directory that may be passed and not be read is missed only if it is replaced itself.
      trouble_ = "inotify on " + directory + ": " + std::generic_category().message(errno);
    }
  }
  for (const auto& [number, interest] : watched_) {
    if (!watched.contains(number)) ::inotify_rm_watch(inotify_.get(), number);
  }
  watched_ = std::move(watched);
  std::erase_if(unfinished_, [&](const auto& file) { return !watched_.contains(file.first); });
  return all;
}

// True when the event matters.
bool Watch::take(const inotify_event& event) {
  const auto directory = watched_.find(event.wd);
  if ((event.mask & IN_Q_OVERFLOW) == 0 && directory == watched_.end()) return false;
  if ((event.mask & kEnds) != 0) return moved_ = true;
  const std::string name = event.len == 0 ? "" : event.name;
  if (!directory->second.covers(name)) return false;
  if ((event.mask & kMoved) != 0) moved_ = true;
  if ((event.mask & IN_MODIFY) != 0) {
    if (unfinished_.size() < kMostUnfinished) unfinished_.emplace(event.wd, name);
  } else if ((event.mask & (kMoved | IN_CLOSE_WRITE)) != 0) {
    unfinished_.erase({event.wd, name});
  }
  return true;
}

void Watch::on_ready(std::uint32_t) {
  alignas(inotify_event) std::array<char, 16 << 10> buffer;
  bool matters = false;
  moved_ = false;
  for (std::size_t i = 0; i < kReadsPerWake; ++i) {
    const ::ssize_t size = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    for (const char* at = buffer.data(); at < buffer.data() + size;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(at);
      matters = take(event) || matters;
      at += sizeof event + event.len;
    }
  }
  if (moved_) walk_again();
  if (matters) changed_();
}

}  // namespace suimon::app
