// Refusals on a fake clock, from the engine to the lines of a real file.
#include "suimon/observe/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "suimon/core/key_text.h"
#include "suimon/engine/engine.h"
#include "suimon/observe/event_line.h"
#include "suimon/policy/loader.h"
#include "suimon/store/reference.h"

namespace suimon {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 1> kDoors = {"http"};

constexpr std::string_view kPolicy =
    "version: 1\ndomain: shop\naliases: {remote_address: client_ip}\nlimits:\n"
    "  - {name: per-user, key: [user], token_bucket: {capacity: 2, refill: 1/min}}\n"
    "  - {name: per-address, key: [client_ip], token_bucket: {capacity: 5, refill: 1/min}}\n"
    "  - {name: named, match: {path: /named}, key: [api_key], on_missing: deny,\n"
    "     token_bucket: {capacity: 1, refill: 1/min}}\n"
    "  - {name: tried, key: [watched], shadow: true, token_bucket: {capacity: 1, refill: 1/min}}\n";

class EventLogTest : public testing::Test {
 protected:
  EventLogTest() {
    std::string pattern = (fs::temp_directory_path() / "suimon-events-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    Loaded loaded = load_policy_text(kPolicy, "p.yaml");
    for (const Mistake& mistake : loaded.mistakes) ADD_FAILURE() << mistake.to_string();
    EXPECT_TRUE(live_.install(std::move(loaded.policy), clock_.now()));
  }
  ~EventLogTest() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "events.log"; }

  void open(Identify identify = Identify::none, std::uint64_t per_second = 100) {
    auto file = EventFile::open(path());
    ASSERT_TRUE(file) << file.error().text;
    log_ = std::make_unique<EventLog>(
        std::move(*file), clock_,
        EventLogOptions{.identify = identify,
                        .per_second = per_second,
                        .doors = kDoors,
                        .wall_minus_boot = [] { return Duration(1'764'518'160s); },
                        .complain = [this](const std::string& text) { said_.push_back(text); }});
    engine_ = std::make_unique<Engine>(live_, store_, log_->add_loop(counters_), clock_);
  }

  void ask(std::vector<Attribute> attributes, std::uint64_t cost = 1, int times = 1) {
    const Request request{"", attributes, cost};
    for (int i = 0; i < times; ++i) {
      engine_->wake(clock_.now());
      engine_->decide({&request, 1}, 0, {[](void*, std::span<const Verdict>) {}, nullptr});
    }
  }

  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string written() {
    log_->pass();
    return read(path());
  }
  static int count(const std::string& text, std::string_view part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  fs::path folder_;
  ManualClock clock_{Instant{1s}};
  ReferenceStore store_{{}};
  LivePolicy live_{store_, Secret{{1, 2}}};
  LoopCounters counters_;
  std::vector<std::string> said_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EventLogTest, MayHaveTenThousandLinesASecondWithoutAGigabyteForThem) {
  open(Identify::none, 10'000);
  EXPECT_LE(log_->add_loop(counters_).ring().capacity() * sizeof(Event), std::size_t{8} << 20);
}

TEST_F(EventLogTest, ARefusalIsOneLineThatNamesNobody) {
  open();
  ask({{"user", "u1"}}, 1, 2);
  EXPECT_EQ(written(), "");
  clock_.advance(18ms);
  ask({{"user", "u1"}});
  const std::string key = key_text(
      key_of(derive_limit(Secret{{1, 2}}, "shop/per-user"), std::string("\2\0\0\0\0\0\0\0u1", 10)));
  EXPECT_EQ(
      written(),
      "{\"time\":\"2025-11-30T15:56:01.018Z\",\"door\":\"http\",\"domain\":\"shop\",\"limit\":"
      "\"per-user\",\"verdict\":\"limited\",\"key\":\"" +
          key + "\",\"remaining\":0,\"capacity\":2,\"cost\":1,\"retry_after_ms\":59982}\n");
  EXPECT_EQ(log_->lines(), 1U);
  EXPECT_EQ(log_->dropped(), 0U);
}

TEST_F(EventLogTest, NeverAndAMissingAttributeAreToldApart) {
  open();
  ask({{"user", "u1"}}, 3);
  ask({{"path", "/named"}});
  const std::string text = written();
  EXPECT_EQ(count(text, "\"verdict\":\"never\""), 2);
  EXPECT_EQ(count(text, "\"remaining\":2,\"capacity\":2,\"cost\":3,\"retry_after_ms\":null}"), 1);
  EXPECT_EQ(count(text,
                  "\"key\":null,\"remaining\":null,\"capacity\":1,\"cost\":null,"
                  "\"retry_after_ms\":null,\"missing\":\"api_key\"}"),
            1);
}

TEST_F(EventLogTest, OfSeveralLimitsTheOneWithTheLongestWaitIsNamed) {
  open();
  ask({{"client_ip", "192.0.2.1"}}, 1, 4);
  ask({{"user", "u1"}}, 1, 2);
  clock_.advance(30s);
  ask({{"client_ip", "192.0.2.1"}, {"user", "u1"}}, 2);
  const std::string text = written();
  EXPECT_EQ(count(text, "\n"), 1);
  EXPECT_EQ(count(text, "\"limit\":\"per-user\""), 1);
}

TEST_F(EventLogTest, AShadowThatWouldRefuseHasALineOfItsOwn) {
  open();
  ask({{"watched", "w1"}}, 1, 3);
  const std::string text = written();
  EXPECT_EQ(count(text, "\"limit\":\"tried\",\"verdict\":\"shadow_limited\""), 2);
  EXPECT_EQ(count(text, "\n"), 2);
}

TEST_F(EventLogTest, WhatIsShownOfAClientIsWhatWasAskedFor) {
  const std::vector<Attribute> asked = {
      {"user", "u\"1"}, {"client_ip", "203.0.113.99"}, {"path", "/x"}, {"unused", "secret"}};
  for (const auto& [identify, shown] :
       {std::pair(Identify::truncated, R"("client":{"client_ip":"203.0.113.0/24"}})"),
        std::pair(Identify::raw, R"("client":{"client_ip":"203.0.113.99","user":"u\"1"}})")}) {
    open(identify);
    ask(asked, 3);
    EXPECT_EQ(count(written(), shown), 1) << read(path());
  }
  EXPECT_EQ(count(read(path()), "secret"), 0);
}

TEST_F(EventLogTest, IPv6IsCutTo48BitsAndWhatIsNoAddressToNothing) {
  open(Identify::truncated);
  ask({{"user", "a"}, {"client_ip", "2001:db8:1:2::3"}}, 3);
  ask({{"user", "b"}, {"client_ip", "[2001:db8:5:6::7]:80"}}, 3);
  ask({{"user", "c"}, {"client_ip", "::ffff:198.51.100.7"}}, 3);
  ask({{"user", "c"}, {"remote_address", "198.51.100.8"}}, 3);
  ask({{"user", "d"}, {"client_ip", "somebody"}}, 3);
  ask({{"user", "e"}}, 3);
  const std::string text = written();
  EXPECT_EQ(count(text, R"("client":{"client_ip":"2001:db8:1::/48"}})"), 1) << text;
  EXPECT_EQ(count(text, R"("client":{"client_ip":"2001:db8:5::/48"}})"), 1);
  EXPECT_EQ(count(text, R"("client":{"client_ip":"198.51.100.0/24"}})"), 2);
  EXPECT_EQ(count(text, R"("client":{}})"), 2);
}

TEST_F(EventLogTest, AnAttackLeavesTheFirstLinesAndTheNumberOfTheRest) {
  open();
  ask({{"user", "u1"}}, 1, 2);
  ask({{"user", "u1"}}, 1, 50'000);
  std::string text = written();
  EXPECT_EQ(count(text, "\"limit\":\"per-user\""), 90);
  EXPECT_EQ(count(text, "{\"time\":\"2025-11-30T15:56:01.000Z\",\"dropped\":49910}\n"), 1);
  EXPECT_EQ(log_->lines(), 90U);
  EXPECT_EQ(log_->dropped(), 49'910U);
  // What is dropped in the same second is told in the next.
  ask({{"user", "u1"}}, 1, 10);
  EXPECT_EQ(count(written(), "\"dropped\":"), 1);
  clock_.advance(1s);
  EXPECT_EQ(count(written(), "\"dropped\":10}"), 1);
  EXPECT_EQ(count(written(), "\"dropped\":"), 2);
}

TEST_F(EventLogTest, ManyLoopsShareOneBudget) {
  open(Identify::none, 10);
  Engine other(live_, store_, log_->add_loop(counters_), clock_);
  ask({{"user", "u1"}}, 3, 20);
  const std::vector<Attribute> attributes = {{"user", "u1"}};
  const Request request{"", attributes, 3};
  for (int i = 0; i < 20; ++i) {
    other.decide({&request, 1}, 0, {[](void*, std::span<const Verdict>) {}, nullptr});
  }
  EXPECT_EQ(count(written(), "\"verdict\""), 9);
  EXPECT_EQ(log_->lines() + log_->dropped(), 40U);
}

TEST_F(EventLogTest, LinesOfManyLoopsStandInTheOrderOfTime) {
  open();
  Engine other(live_, store_, log_->add_loop(counters_), clock_);
  for (int i = 0; i < 3; ++i) {
    clock_.advance(1ms);
    const std::vector<Attribute> attributes = {{"user", "u1"}};
    const Request request{"", attributes, 3};
    other.wake(clock_.now());
    other.decide({&request, 1}, 0, {[](void*, std::span<const Verdict>) {}, nullptr});
    clock_.advance(1ms);
    ask({{"user", "u1"}}, 3);
  }
  const std::string text = written();
  std::size_t last = 0;
  for (int ms = 1; ms <= 6; ++ms) {
    const auto at = text.find(".00" + std::to_string(ms) + "Z");
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_GE(at, last);
    last = at;
  }
}

TEST_F(EventLogTest, AFileThatWasMovedAwayIsMadeAgain) {
  open();
  ask({{"user", "a"}}, 3);
  EXPECT_EQ(count(written(), "\n"), 1);
  fs::rename(path(), folder_ / "events.log.1");
  clock_.advance(1s);
  ask({{"user", "b"}}, 3);
  EXPECT_EQ(count(written(), "\n"), 1);
  EXPECT_EQ(count(read(folder_ / "events.log.1"), "\n"), 1);
  fs::remove(path());
  clock_.advance(1s);
  ask({{"user", "c"}}, 3);
  EXPECT_EQ(count(written(), "\n"), 1);
}

TEST_F(EventLogTest, WithinASecondTheFileIsOpenedAgainWhenAskedFor) {
  open();
  (void)written();
  fs::rename(path(), folder_ / "events.log.1");
  log_->reopen();
  ask({{"user", "b"}}, 3);
  EXPECT_EQ(count(written(), "\n"), 1);
  EXPECT_EQ(read(folder_ / "events.log.1"), "");
}

TEST_F(EventLogTest, AFolderThatIsGoneIsComplainedOfOnceAndTheOldFileStays) {
  open();
  fs::rename(folder_, folder_.string() + ".away");
  for (int i = 0; i < 3; ++i) {
    clock_.advance(1s);
    ask({{"user", "b"}}, 3);
    log_->pass();
  }
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0],
            "event log " + path().string() + " cannot be opened: No such file or directory");
  EXPECT_EQ(count(read(folder_.string() + ".away/events.log"), "\n"), 3);
  fs::rename(folder_.string() + ".away", folder_);
  clock_.advance(1s);
  log_->reopen();
  log_->pass();
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[1], "event log " + path().string() + " works again");
}

TEST_F(EventLogTest, AFullDiskIsCountedAndComplainedOfOnce) {
  fs::create_symlink("/dev/full", path());
  open();
  for (int i = 0; i < 3; ++i) {
    ask({{"user", "a"}}, 3);
    clock_.advance(1s);
    log_->pass();
  }
  EXPECT_EQ(log_->lines(), 0U);
  EXPECT_EQ(log_->dropped(), 3U);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_[0],
            "event log " + path().string() + " cannot be written: No space left on device");
}

TEST_F(EventLogTest, ANewFileIsNotForEverybody) {
  open();
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0137, 0U);
}

TEST_F(EventLogTest, AFolderIsNoLog) {
  fs::create_directory(path());
  const auto file = EventFile::open(path());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().text,
            "event log " + path().string() + " cannot be opened: Is a directory");
}

TEST_F(EventLogTest, APipeThatNobodyReadsHoldsUpNothing) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(EventFile::open(path()));  // instead of waiting for a reader
  const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK);
  open(Identify::none, 10'000);
  ask({{"user", "a"}}, 3, 9'000);  // more than a pipe holds
  log_->pass();
  EXPECT_GT(log_->lines(), 0U);
  EXPECT_GT(log_->dropped(), 0U);
  EXPECT_EQ(log_->lines() + log_->dropped(), 9'000U);
  ::close(reader);
}

TEST_F(EventLogTest, WhatWaitsAtTheEndIsWritten) {
  open();
  log_->start();
  ask({{"user", "u1"}}, 3, 200);
  log_->stop();
  const std::string text = read(path());
  EXPECT_EQ(count(text, "\"verdict\""), 90);
  EXPECT_EQ(count(text, "\"dropped\":110}\n"), 1);
}

TEST(EventLine, TimesBeforeAndAfter1970) {
  std::string out;
  append_time(out, 0);
  append_time(out, -1);
  append_time(out, 951'782'399'999'999'999);
  EXPECT_EQ(out, "1970-01-01T00:00:00.000Z1969-12-31T23:59:59.999Z2000-02-28T23:59:59.999Z");
}

}  // namespace
}  // namespace suimon
