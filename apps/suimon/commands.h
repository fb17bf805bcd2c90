// The commands of suimon. Each returns the program's exit code:
// 0 good, 1 failed at run time, 2 wrong usage or configuration, 3 refused (check --exit-code).
#pragma once

#include <string>
#include <vector>

#include "suimon/time.h"

namespace suimon::app {

inline constexpr int kGood = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kRefused = 3;

struct ServeOptions {
  std::string config;
  std::string http = "127.0.0.1:8080";
  std::string admin = "127.0.0.1:9090";
  std::string store = "memory://?max_keys=1000000";
  std::string secret_file;
  std::string admin_token_file;  // "": what the policy says, else nobody may change anything
  unsigned threads = 0;          // 0: one a core
};
int serve(const ServeOptions& options);

int validate(const std::string& path);

struct CheckOptions {
  std::string config;
  std::vector<std::string> attributes;  // "name=value"
  std::uint64_t cost = 1;
  std::uint64_t times = 1;
  std::string at = "0";  // seconds, up to nine decimals
  std::string every = "0";
  std::string language = "en";
  bool exit_code = false;
};
int check(const CheckOptions& options);

struct TopOptions {
  std::string admin = "127.0.0.1:9090";
  std::string token_file;  // its first token is sent along
  bool once = false;
  bool json = false;
};
int top(const TopOptions& options);

struct BenchOptions {
  std::uint64_t keys = 10'000'000;
  bool json = false;
};
int bench(const BenchOptions& options);

}  // namespace suimon::app
