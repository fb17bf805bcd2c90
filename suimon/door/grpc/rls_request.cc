#include "suimon/door/grpc/rls_request.h"

#include <string>

#include "suimon/door/grpc/wire.h"

namespace suimon::door {
namespace {

using wire::Type;

constexpr std::size_t kMostEntries = Request::kMostAttributes;

bool is(const wire::Field& field, std::uint32_t number, Type type) {
  return field.number == number && field.type == type;
}

tl::unexpected<Error> broken() {
  return failure("the message is no RateLimitRequest of envoy.service.ratelimit.v3");
}

// google.protobuf.UInt64Value
bool read_wrapped(std::string_view message, std::uint64_t& value) {
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (is(field, 1, Type::varint)) value = field.value;
  }
  return reader.good();
}

}  // namespace

Result<void> RlsRequest::read(std::string_view message) {
  domain_ = accept_language_ = {};
  attributes_.clear();
  requests_.clear();
  ends_.clear();
  own_cost_.clear();
  std::uint64_t hits = 0;
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (is(field, 1, Type::bytes)) {
      domain_ = field.bytes;
    } else if (is(field, 2, Type::bytes)) {
      if (auto read = read_descriptor(field.bytes); !read) return read;
    } else if (is(field, 3, Type::varint)) {
      hits = static_cast<std::uint32_t>(field.value);
    }
  }
  if (!reader.good()) return broken();
  if (requests_.empty()) {
    return failure("there are no descriptors; send at least one, with its entries");
  }
  // Only now are all attributes in their place.
  std::size_t from = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Request& request = requests_[i];
    request.domain = domain_;
    request.attributes = std::span(attributes_).subspan(from, ends_[i] - from);
    if (own_cost_[i] == 0) request.cost = hits == 0 ? 1 : hits;
    from = ends_[i];
  }
  return {};
}

Result<void> RlsRequest::read_descriptor(std::string_view message) {
  const auto place = [&] { return "descriptors[" + std::to_string(requests_.size()) + "]"; };
  if (requests_.size() == kMostDescriptors) {
    return failure("more than 64 descriptors; send fewer");
  }
  entries_ = 0;
  bool own_cost = false;
  bool negative = false;
  std::uint64_t cost = 0;
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (is(field, 1, Type::bytes)) {
      if (!read_entry(field.bytes)) return broken();
      if (entries_ > kMostEntries) {
        return failure(place() + " has more than 64 entries; send fewer");
      }
    } else if (is(field, 3, Type::bytes)) {
      own_cost = true;
      if (!read_wrapped(field.bytes, cost)) return broken();
    } else if (is(field, 4, Type::varint)) {
      negative = field.value != 0;
    }
  }
  if (!reader.good()) return broken();
  if (entries_ == 0) return failure(place() + " has no entries; send at least one key and value");
  requests_.emplace_back().cost = negative ? 0 : cost;
  ends_.push_back(attributes_.size());
  own_cost_.push_back(own_cost || negative ? 1 : 0);
  return {};
}

bool RlsRequest::read_entry(std::string_view message) {
  Attribute entry;
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) {
    if (is(field, 1, Type::bytes)) entry.name = field.bytes;
    if (is(field, 2, Type::bytes)) entry.value = field.bytes;
  }
  if (!reader.good()) return false;
  ++entries_;
  if (entry.name == kAcceptLanguage) {
    if (accept_language_.empty()) accept_language_ = entry.value;
  } else {
    attributes_.push_back(entry);
  }
  return true;
}

}  // namespace suimon::door
