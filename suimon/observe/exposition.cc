#include "suimon/observe/exposition.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace suimon {
namespace {

constexpr std::size_t kMostSamples = 1'000'000;
constexpr std::size_t kMostLabels = 64;

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

// One line, read from its beginning.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    skip_blanks();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  // A label's value, between quotes, with \\, \" and \n.
  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string value;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      if (rest_.empty()) return std::nullopt;
      value += rest_.front() == 'n' ? '\n' : rest_.front();
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }
  // The value; a timestamp behind it is not looked at.
  std::optional<double> number() {
    skip_blanks();
    const auto end = std::find_if(rest_.begin(), rest_.end(), is_blank);
    std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (word == "+Inf") return std::numeric_limits<double>::infinity();
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const char* const stop = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), stop, value);
    if (error != std::errc{} || at != stop) return std::nullopt;
    return value;
  }

 private:
  std::string_view rest_;
};

std::optional<Sample> read_sample(std::string_view text) {
  Line line(text);
  Sample sample;
  sample.name = line.name();
  if (sample.name.empty()) return std::nullopt;
  if (line.take('{')) {
    while (!line.take('}')) {
      if (!sample.labels.empty() && !line.take(',')) return std::nullopt;
      if (line.take('}')) break;  // a comma may stand before the end
      std::string label(line.name());
      if (label.empty() || !line.take('=')) return std::nullopt;
      auto value = line.quoted();
      if (!value || sample.labels.size() == kMostLabels) return std::nullopt;
      sample.labels.emplace_back(std::move(label), std::move(*value));
    }
  }
  const auto value = line.number();
  if (!value) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

std::string_view Sample::label(std::string_view wanted) const {
  for (const auto& [label_name, text] : labels) {
    if (label_name == wanted) return text;
  }
  return {};
}

Result<std::vector<Sample>> parse_exposition(std::string_view page) {
  std::vector<Sample> samples;
  for (std::size_t number = 1; !page.empty(); ++number) {
    const auto end = page.find('\n');
    const std::string_view line = page.substr(0, end);
    page = end == std::string_view::npos ? std::string_view{} : page.substr(end + 1);
    const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
    if (first == line.end() || *first == '#') continue;
    auto sample = read_sample(line);
    if (!sample) return failure("line " + std::to_string(number) + " is no sample of a metric");
    if (samples.size() == kMostSamples) return failure("there are more than 1000000 samples");
    samples.push_back(std::move(*sample));
  }
  return samples;
}

}  // namespace suimon
