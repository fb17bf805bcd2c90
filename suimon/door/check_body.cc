#include "suimon/door/check_body.h"

#include <cmath>

#include "suimon/door/json_text.h"

namespace suimon::door {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostIdBytes = 256;

// A whole number, also one that is written with a fraction of 0, as some languages do.
bool read_cost(const dom::element& value, std::uint64_t& cost) {
  if (value.get_uint64().get(cost) == simdjson::SUCCESS) return true;
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64
  double number = 0;
  if (!value.is_double() || value.get_double().get(number) != simdjson::SUCCESS) return false;
  if (!(number >= 0) || number >= kTooLarge || number != std::floor(number)) return false;
  cost = static_cast<std::uint64_t>(number);
  return true;
}

std::string read_id(const dom::element& value, std::string_view& id) {
  const bool text = value.get_string().get(id) == simdjson::SUCCESS;
  if (text && !id.empty() && id.size() <= kMostIdBytes) return {};
  return "id must be a string of 1 to 256 bytes that names this refund and no other";
}

// `id` is there for a refund only.
std::string read_check(const dom::element& element, std::vector<Attribute>& attributes,
                       Check& check, std::string_view* id = nullptr) {
  dom::object members;
  if (element.get_object().get(members) != simdjson::SUCCESS) {
    return "a check must be an object, such as {\"attributes\": {\"client_ip\": \"203.0.113.9\"}}";
  }
  bool seen_domain = false;
  bool seen_attributes = false;
  bool seen_cost = false;
  bool seen_id = false;
  for (const auto& [name, value] : members) {
    bool* seen = name == "domain"                ? &seen_domain
                 : name == "attributes"          ? &seen_attributes
                 : name == "cost"                ? &seen_cost
                 : id != nullptr && name == "id" ? &seen_id
                                                 : nullptr;
    if (seen == nullptr) {
      return "unknown member " + quoted(name) +
             (id == nullptr ? "; a check has domain, attributes and cost"
                            : "; a refund has id, domain, attributes and cost");
    }
    if (*seen) return "the member " + quoted(name) + " stands twice";
    *seen = true;
    if (seen == &seen_domain && value.get_string().get(check.domain) != simdjson::SUCCESS) {
      return "domain must be a string";
    }
    if (seen == &seen_cost && !read_cost(value, check.cost)) {
      return "cost must be a whole number, 0 or more";
    }
    std::string mistake;
    if (seen == &seen_id) mistake = read_id(value, *id);
    if (seen == &seen_attributes) {
      check.first_attribute = attributes.size();
      mistake = read_attributes(value, attributes);
      check.attribute_count = attributes.size() - check.first_attribute;
    }
    if (!mistake.empty()) return mistake;
  }
  if (id != nullptr && !seen_id) {
    return "id is missing: a name for this refund, so that the same one is not given back twice";
  }
  return {};
}

}  // namespace

CheckReader::CheckReader() : json_(std::make_unique<JsonText>()) {}
CheckReader::~CheckReader() = default;

Result<const Check*> CheckReader::read_one(std::string_view body) { return read(body, nullptr); }

Result<const Check*> CheckReader::read_refund(std::string_view body, std::string_view& id) {
  return read(body, &id);
}

Result<const Check*> CheckReader::read(std::string_view body, std::string_view* id) {
  checks_.resize(1);
  checks_[0] = Check{};
  attributes_.clear();
  auto element = json_->parse(body);
  if (!element) return tl::unexpected(element.error());
  std::string mistake = read_check(*element, attributes_, checks_[0], id);
  if (!mistake.empty()) return failure(std::move(mistake));
  return &checks_[0];
}

Result<std::span<const Check>> CheckReader::read_batch(std::string_view body) {
  checks_.clear();
  attributes_.clear();
  auto element = json_->parse(body);
  if (!element) return tl::unexpected(element.error());
  dom::array elements;
  if (element->get_array().get(elements) != simdjson::SUCCESS) {
    return failure("a batch must be an array of checks");
  }
  for (const dom::element& one : elements) {
    if (checks_.size() == kMostChecks) {
      return failure("a batch holds at most 1000 checks; send the rest in a second one");
    }
    Check& check = checks_.emplace_back();
    check.mistake = read_check(one, attributes_, check);
  }
  return checks_;
}

}  // namespace suimon::door
