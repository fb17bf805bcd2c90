#include "suimon/door/json_text.h"

#include <algorithm>
#include <cstring>

namespace suimon::door {

namespace dom = simdjson::dom;

Result<dom::element> JsonText::parse(std::string_view body) {
  if (body.size() > kMostBytes) return failure("the body is longer than 1 MiB");
  padded_.resize(std::max(padded_.size(), body.size() + simdjson::SIMDJSON_PADDING));
  body.copy(padded_.data(), body.size());
  std::memset(padded_.data() + body.size(), 0, simdjson::SIMDJSON_PADDING);
  dom::element element;
  const auto error = parser_.parse(padded_.data(), body.size(), false).get(element);
  if (error == simdjson::NUMBER_ERROR) {
    return failure("a number in the body is malformed, or an integer of more than 64 bits");
  }
  if (error != simdjson::SUCCESS) {
    return failure(std::string("the body is not JSON: ") + simdjson::error_message(error));
  }
  return element;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string out = "\"" + std::string(text.substr(0, kShown));
  return out + (text.size() > kShown ? "...\"" : "\"");
}

std::string read_attributes(const dom::element& value, std::vector<Attribute>& attributes) {
  dom::object members;
  if (value.get_object().get(members) != simdjson::SUCCESS) {
    return "attributes must be an object, such as {\"client_ip\": \"203.0.113.9\"}";
  }
  const std::size_t first = attributes.size();
  for (const auto& [name, text] : members) {
    std::string_view read;
    if (text.get_string().get(read) != simdjson::SUCCESS) {
      return "attributes." + std::string(name.substr(0, 64)) + " must be a string";
    }
    for (std::size_t i = first; i < attributes.size(); ++i) {
      if (attributes[i].name == name) return "attributes has " + quoted(name) + " twice";
    }
    if (attributes.size() - first == Request::kMostAttributes) {
      return "attributes has more than 64 members; name only those that limits look at";
    }
    attributes.push_back({name, read});
  }
  return {};
}

}  // namespace suimon::door
