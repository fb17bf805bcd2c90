// What the http listener understands and answers, as OpenAPI 3.1: the text of openapi.json.
//
// Thread rule: a constant.
#pragma once

#include <string_view>

namespace suimon::door {

extern const std::string_view kOpenApi;

}  // namespace suimon::door
