#include "suimon/door/check_body.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace suimon::door {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string out = "\"" + std::string(text.substr(0, kShown));
  return out + (text.size() > kShown ? "...\"" : "\"");
}

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

// Reads the attributes of one check, or says what is wrong with them.
std::string read_attributes(const dom::element& value, std::vector<Attribute>& attributes,
                            Check& check) {
  dom::object members;
  if (value.get_object().get(members) != simdjson::SUCCESS) {
    return "attributes must be an object, such as {\"client_ip\": \"203.0.113.9\"}";
  }
  check.first_attribute = attributes.size();
  for (const auto& [name, text] : members) {
    std::string_view read;
    if (text.get_string().get(read) != simdjson::SUCCESS) {
      return "attributes." + std::string(name.substr(0, 64)) + " must be a string";
    }
    for (std::size_t i = check.first_attribute; i < attributes.size(); ++i) {
      if (attributes[i].name == name) return "attributes has " + quoted(name) + " twice";
    }
    if (attributes.size() - check.first_attribute == Request::kMostAttributes) {
      return "attributes has more than 64 members; name only those that limits look at";
    }
    attributes.push_back({name, read});
  }
  check.attribute_count = attributes.size() - check.first_attribute;
  return {};
}

std::string read_check(const dom::element& element, std::vector<Attribute>& attributes,
                       Check& check) {
  dom::object members;
  if (element.get_object().get(members) != simdjson::SUCCESS) {
    return "a check must be an object, such as {\"attributes\": {\"client_ip\": \"203.0.113.9\"}}";
  }
  bool seen_domain = false;
  bool seen_attributes = false;
  bool seen_cost = false;
  for (const auto& [name, value] : members) {
    bool* seen = name == "domain"       ? &seen_domain
                 : name == "attributes" ? &seen_attributes
                 : name == "cost"       ? &seen_cost
                                        : nullptr;
    if (seen == nullptr) {
      return "unknown member " + quoted(name) + "; a check has domain, attributes and cost";
    }
    if (*seen) return "the member " + quoted(name) + " stands twice";
    *seen = true;
    if (seen == &seen_domain && value.get_string().get(check.domain) != simdjson::SUCCESS) {
      return "domain must be a string";
    }
    if (seen == &seen_cost && !read_cost(value, check.cost)) {
      return "cost must be a whole number, 0 or more";
    }
    if (seen == &seen_attributes) {
      if (std::string mistake = read_attributes(value, attributes, check); !mistake.empty()) {
        return mistake;
      }
    }
  }
  return {};
}

}  // namespace

struct CheckReader::Json {
  dom::parser parser{kMostBytes};
  std::vector<char> padded;  // simdjson reads a little beyond the end

  Result<dom::element> parse(std::string_view body) {
    if (body.size() > kMostBytes) return failure("the body is longer than 1 MiB");
    padded.resize(std::max(padded.size(), body.size() + simdjson::SIMDJSON_PADDING));
    std::memcpy(padded.data(), body.data(), body.size());
    std::memset(padded.data() + body.size(), 0, simdjson::SIMDJSON_PADDING);
    dom::element element;
    const auto error = parser.parse(padded.data(), body.size(), false).get(element);
    if (error == simdjson::NUMBER_ERROR) {
      return failure("a number in the body is malformed, or an integer of more than 64 bits");
    }
    if (error != simdjson::SUCCESS) {
      return failure(std::string("the body is not JSON: ") + simdjson::error_message(error));
    }
    return element;
  }
};

CheckReader::CheckReader() : json_(std::make_unique<Json>()) {}
CheckReader::~CheckReader() = default;

Result<const Check*> CheckReader::read_one(std::string_view body) {
  checks_.resize(1);
  checks_[0] = Check{};
  attributes_.clear();
  auto element = json_->parse(body);
  if (!element) return tl::unexpected(element.error());
  std::string mistake = read_check(*element, attributes_, checks_[0]);
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
