// The JSON body that names one key of one limit, read into a KeyName.
//
// {"domain": "shop", "limit": "per-user", "attributes": {"user": "u1"}}, or in place of attributes
// "hash", as the log and /v1/top show it, and with it perhaps "tier". Unknown and repeated members
// are mistakes.
//
// Thread rule: one reader a thread; it reuses its memory. Pure: no sockets, no clock.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "suimon/engine/corrections.h"
#include "suimon/result.h"

namespace suimon::door {

class JsonText;

class KeyReader {
 public:
  KeyReader();
  ~KeyReader();

  // The views live until the next read.
  Result<KeyName> read(std::string_view body);

 private:
  std::unique_ptr<JsonText> json_;
  std::vector<Attribute> attributes_;
};

}  // namespace suimon::door
