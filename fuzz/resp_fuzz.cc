// The Redis protocol's requests, whole and in two pieces, and the words of the commands that take
// numbers.
#include <cstdlib>
#include <string>
#include <vector>

#include "suimon/door/resp/check_call.h"
#include "suimon/door/resp/commands.h"
#include "suimon/door/resp/reader.h"
#include "suimon/door/resp/throttle_call.h"

namespace {

using suimon::door::RespReader;

void require(bool holds) {
  if (!holds) std::abort();
}

// An error is one line, whatever was sent.
void require_one_line(const std::string& out) {
  require(out.size() >= 3 && out.front() == '-' && out.ends_with("\r\n"));
  require(out.find_first_of("\r\n") == out.size() - 2);
}

void run(std::span<const std::string_view> words) {
  using namespace suimon::door;
  static const RespPassword password("sesame");
  std::string error;
  std::string out;
  const RespCommand command = find_command(words.front());
  RespClient client;
  client.proved = true;
  if (!may_run(command, words, client, out)) return require_one_line(out);
  for (const auto dialect :
       {suimon::ThrottleDialect::cl_throttle, suimon::ThrottleDialect::throttle}) {
    ThrottleCall call;
    if (!read_throttle(dialect, words, call, error)) {
      append_error(error, out);
      require_one_line(out);
      out.clear();
      continue;
    }
    require(call.set.capacity > 0 && call.set.interval.count() > 0);
    const auto fill = static_cast<suimon::detail::uint128>(call.set.capacity) *
                      static_cast<std::uint64_t>(call.set.interval.count());
    if (fill >= std::uint64_t{1} << 62) continue;  // ThrottleSets takes no such
    const suimon::Limit limit{call.set.capacity, {1, call.set.interval}};
    const auto step = suimon::algorithms::TokenBucket::decide(
        suimon::Word{}, suimon::detail::word_scale(limit), suimon::Instant{}, call.amount, call.op,
        suimon::Duration(0));
    const auto reply = throttle_reply(dialect, call.set, step.decision);
    require(reply[1] == static_cast<std::int64_t>(call.set.capacity));
    require(reply[2] >= 0 && reply[3] >= -1 && reply[4] >= -1);
  }
  if (command == RespCommand::suimon_check) {
    suimon::door::CheckCalls checks;
    if (!checks.add(words, error)) append_error(error, out);
    require(checks.is_empty() == !out.empty());
  } else {
    answer_command(command, words, client, {password, 1}, out);
  }
}

// Reads all commands of `in`; how many bytes they were.
std::size_t read_all(RespReader& reader, std::string_view in, std::vector<std::string>& seen) {
  std::size_t used = 0;
  for (;;) {
    std::size_t consumed = 0;
    const auto status = reader.read(in.substr(used), true, consumed);
    if (status == RespReader::Status::need_more) {
      require(consumed == 0);
      return used;
    }
    if (status == RespReader::Status::bad) {
      seen.push_back(reader.error());
      return std::string_view::npos;
    }
    require(consumed > 0 && consumed <= in.size() - used);
    used += consumed;
    if (status == RespReader::Status::nothing) continue;
    require(!reader.words().empty());
    for (const std::string_view word : reader.words()) seen.emplace_back(word);
    run(reader.words());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  RespReader reader;
  std::vector<std::string> whole;
  const std::size_t end = read_all(reader, in, whole);
  // What came in two pieces reads the same.
  std::vector<std::string> pieces;
  const std::size_t first = read_all(reader, in.substr(0, size / 2), pieces);
  std::size_t second = first;
  if (first != std::string_view::npos) {
    second = read_all(reader, in.substr(first), pieces);
    if (second != std::string_view::npos) second += first;
  }
  require(second == end && whole == pieces);
  return 0;
}
