// The token bucket: tokens = min(C, tokens + R*T), allowed when tokens >= n.
#pragma once

#include <string_view>

#include "suimon/core/algorithms/token_bucket_ledger.h"
#include "suimon/core/algorithms/token_bucket_word.h"

namespace suimon::algorithms {

// Both forms under one name: the state that is passed in says which is meant.
struct TokenBucket : TokenBucketLedger, TokenBucketWord {
  static constexpr std::string_view name = "token_bucket";
  using TokenBucketLedger::convert;
  using TokenBucketLedger::decide;
  using TokenBucketLedger::time_to_full;
  using TokenBucketWord::convert;
  using TokenBucketWord::decide;
  using TokenBucketWord::time_to_full;
};

}  // namespace suimon::algorithms
