// The file of operators' tokens: a mistake names its line, or that there is no token; what is read
// is known by a name.
#include <cstdlib>
#include <string>

#include "suimon/door/admin_tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using suimon::door::AdminTokens;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokens = AdminTokens::parse(text);
  if (!tokens) {
    const std::string& told = tokens.error().text;
    if (!told.starts_with("line ") && !told.starts_with("there is no token in it")) std::abort();
    return 0;
  }
  // The whole text is no token unless it is the one line.
  const auto who = tokens->who(text);
  if (who && (who->empty() || text.size() < AdminTokens::kShortest)) std::abort();
  return 0;
}
