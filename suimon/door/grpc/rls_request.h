// Reads envoy.service.ratelimit.v3.RateLimitRequest: what a gateway says of one request.
//
// By hand, as views into the message, because Protocol Buffers' own objects cost as much as the
// decision; a fuzzer holds this reader to theirs. Strings need not be UTF-8: they may hold what a
// client sent to the gateway, and whoever sends garbage must not get around a limit.
// Thread rule: one reader a thread; it allocates only until its buffers have grown.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "suimon/policy/request.h"
#include "suimon/result.h"

namespace suimon::door {

class RlsRequest {
 public:
  static constexpr std::size_t kMostDescriptors = 64;
  // The language in which the client wants to read a refusal; no limit sees it.
  static constexpr std::string_view kAcceptLanguage = "accept_language";

  // Reads `message`, which must live as long as the views. An error says what is wrong with the
  // request, for the programmer of the caller.
  Result<void> read(std::string_view message);

  std::string_view domain() const { return domain_; }
  // One for each descriptor: its entries, and its own hits, else those of the whole request, of
  // which 0 means that it was not written: 1. A descriptor's own 0 looks without taking, as does
  // one with negative hits.
  std::span<const Request> descriptors() const { return requests_; }
  // The first accept_language; "" when there is none.
  std::string_view accept_language() const { return accept_language_; }

 private:
  struct Descriptor;
  Result<void> read_descriptor(std::string_view message);
  bool read_entry(std::string_view message);

  std::string_view domain_;
  std::string_view accept_language_;
  std::vector<Attribute> attributes_;  // of all descriptors
  std::vector<Request> requests_;
  std::vector<std::size_t> ends_;       // of each descriptor's attributes
  std::vector<std::uint8_t> own_cost_;  // whether a descriptor has hits of its own
  std::size_t entries_ = 0;             // of the descriptor that is being read
};

}  // namespace suimon::door
