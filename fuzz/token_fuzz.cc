// The verdict token and Accept-Language: whatever is read can be written again and read the same.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "suimon/reply/body.h"
#include "suimon/reply/headers.h"
#include "suimon/reply/locales.h"
#include "suimon/reply/token.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const suimon::Locale& locale = suimon::choose_locale(text);
  suimon::Told told;
  if (!suimon::parse_token(text, told)) return 0;
  std::string again;
  suimon::append_token(told.facts, told.status, again);
  suimon::Told second;
  if (!suimon::parse_token(again, second) || second.facts.size != told.facts.size) std::abort();
  std::string lines;
  suimon::AnswerRule answers;
  answers.headers = {0, 1, 2, 3};
  told.facts.answers = &answers;
  const suimon::ManualClock wall(suimon::Instant::max());  // the end of time, too
  suimon::append_decision_fields(told.facts, wall, lines);
  for (const char c : lines) {
    if ((c < ' ' && c != '\r' && c != '\n') || c == 0x7f) std::abort();
  }
  // At most six fields, whatever the names were.
  if (std::count(lines.begin(), lines.end(), '\n') > 6) std::abort();
  std::string body;
  if (told.facts.outcome != suimon::Outcome::allowed) {
    suimon::append_refusal_body(told.facts, told.status, locale, body);
  }
  return 0;
}
