// The JSON body of a check, read into requests.
//
// {"domain": "shop", "attributes": {"client_ip": "203.0.113.9"}, "cost": 1}; a batch is an array of
// up to 1,000 of them. Unknown and repeated members are mistakes: what is misspelt must not pass
// as "no such attribute" and leave somebody unlimited.
//
// One reader per loop, used by its thread alone; it reuses its memory. Pure: no sockets, no clock.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suimon/policy/request.h"
#include "suimon/result.h"

namespace suimon::door {

class JsonText;

// One element: a request, or what is wrong with it.
struct Check {
  std::string_view domain;
  std::uint64_t cost = 1;
  std::size_t first_attribute = 0;  // in CheckReader::attributes()
  std::size_t attribute_count = 0;
  std::string mistake;  // "" when there is none
};

class CheckReader {
 public:
  static constexpr std::size_t kMostChecks = 1000;

  CheckReader();
  ~CheckReader();

  // Reads one check. The views live until the next read.
  Result<const Check*> read_one(std::string_view body);

  // Reads a refund: a check with an `id` of its own.
  Result<const Check*> read_refund(std::string_view body, std::string_view& id);

  // Reads an array of checks; a mistake in one element concerns that element only.
  Result<std::span<const Check>> read_batch(std::string_view body);

  // The request that a check without a mistake means.
  Request request(const Check& check) const {
    return {check.domain,
            std::span(attributes_).subspan(check.first_attribute, check.attribute_count),
            check.cost};
  }

 private:
  Result<const Check*> read(std::string_view body, std::string_view* id);

  std::unique_ptr<JsonText> json_;
  std::vector<Check> checks_;
  std::vector<Attribute> attributes_;
};

}  // namespace suimon::door
