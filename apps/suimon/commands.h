// The commands of suimon. Each returns the program's exit code:
// 0 good, 1 failed at run time, 2 wrong usage or configuration, 3 refused (check --exit-code).
#pragma once

#include <string>
#include <vector>

#include "suimon/policy/settings.h"
#include "suimon/time.h"

namespace suimon::app {

inline constexpr int kGood = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kRefused = 3;

struct ServeOptions {
  std::string config;
  Settings flags;  // what the command line and the environment say; the rest is the policy's to say
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
  std::string language;
  bool exit_code = false;
};
int check(const CheckOptions& options);

struct ExplainOptions {
  std::string config;
  std::vector<std::string> attributes;  // "name=value"
  bool json = false;
};
int explain(const ExplainOptions& options);

struct KeyHashOptions {
  std::string config;
  std::vector<std::string> attributes;  // "name=value"
  std::string secret_file;              // "": where serve would look
  std::string previous_secret_file;     // "": none
};
int key_hash(const KeyHashOptions& options);
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
