// Tells when the file or directory behind a path may have changed, by inotify(7).
//
// What is watched are directories, never files: an editor or a ConfigMap puts a new file in the
// place of the old one. Each directory on the way is watched for its own end, and for the names in
// it that matter: a symbolic link, the last name, a name that is not there yet; in a directory of
// policies every *.yaml and *.yml, and where their links lead. After an event that may have moved
// something the way is walked again.
//
// Thread rule: the loop's thread. Bounded: kMostDirectories directories, 40 links a path.
#pragma once

#include <sys/inotify.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "suimon/net/loop.h"

namespace suimon::app {

class Watch final : public net::Watcher {
 public:
  static constexpr std::size_t kMostDirectories = 256;

  // Which names of one directory matter.
  struct Interest {
    std::set<std::string> names;
    bool policies = false;  // every *.yaml and *.yml

    bool any() const { return policies || !names.empty(); }
    bool covers(const std::string& name) const;
    void add(const Interest& other);
    friend bool operator==(const Interest&, const Interest&) = default;
  };
  using Wanted = std::map<std::string, Interest>;  // by the path of the directory

  // `changed` is called once for each wake-up that brought something; it may not destroy the Watch.
  Watch(net::Loop& loop, std::string path, std::function<void()> changed);
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Why changes may be missed: the system gives no inotify, or no more of it. Empty: none are.
  const std::string& trouble() const { return trouble_; }

  // A file has been written to and not been closed since.
  bool being_written() const { return !unfinished_.empty(); }

  void on_ready(std::uint32_t events) override;

 private:
  void walk_again();
  bool watch_all(const Wanted& wanted);
  bool take(const inotify_event& event);

  net::Loop& loop_;
  const std::string path_;
  const std::function<void()> changed_;
  net::Fd inotify_;
  std::map<int, Interest> watched_;                   // by watch descriptor
  std::set<std::pair<int, std::string>> unfinished_;  // at most kMostUnfinished
  std::string trouble_;
  bool moved_ = false;  // an event of this wake-up may have changed the way
};

}  // namespace suimon::app
