// Where the log of refusals is written: a file that others may move away, or standard error.
//
// Thread rule: one thread. No call waits for a reader: what a pipe does not take now is not
// written.
#pragma once

#include <string>
#include <string_view>

#include "suimon/result.h"

namespace suimon {

class EventFile {
 public:
  // Opens `where`: "stderr", or a path. A file that is not there is made, mode 0640 less the umask;
  // one that is there grows at its end.
  static Result<EventFile> open(std::string where);
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  // The most bytes that one write() takes: so many a pipe takes whole or not at all.
  static constexpr std::size_t kMostBytes = 4096;

  // Writes whole lines, kMostBytes at most; the error says what the system said. What was written
  // by half is ended with a line feed before the next.
  Result<void> write(std::string_view lines);

  // Opens the path again. On failure the file that is open stays.
  Result<void> reopen();

  // Whether the path names another file by now, or none.
  bool moved_away() const;

  const std::string& where() const { return where_; }

 private:
  explicit EventFile(std::string where) : where_(std::move(where)) {}
  bool is_file() const;

  std::string where_;
  int fd_ = -1;
  bool torn_ = false;  // the last line in the file has no end
};

}  // namespace suimon
