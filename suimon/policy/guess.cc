#include "suimon/policy/guess.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "suimon/policy/mistakes.h"

namespace suimon {
namespace {

// Other people's words for ours.
struct Synonym {
  std::string_view theirs;
  std::string_view ours;
};
constexpr Synonym kSynonyms[] = {
    {"rate", "refill"},
    {"refill_rate", "refill"},
    {"fill_rate", "refill"},
    {"rps", "refill"},
    {"refill_per_second", "refill"},
    {"tokens_per_fill", "refill"},
    {"burst", "capacity"},
    {"bucket_size", "capacity"},
    {"size", "capacity"},
    {"max", "capacity"},
    {"max_tokens", "capacity"},
    {"limit", "capacity"},
    {"tokens", "capacity"},
    {"rules", "limits"},
    {"rate_limits", "limits"},
    {"policies", "limits"},
    {"plans", "tiers"},
    {"plan", "tier"},
    {"id", "name"},
    {"namespace", "domain"},
    {"when", "match"},
    {"conditions", "match"},
    {"if", "match"},
    {"code", "status"},
    {"http_status", "status"},
    {"dry_run", "shadow"},
    {"shadow_mode", "shadow"},
    {"report_only", "shadow"},
    {"description", "title"},
    {"label", "title"},
    {"lang", "language"},
    {"locale", "language"},
    {"certificate", "cert"},
    {"ca", "client_ca"},
    {"listen", "http"},
    {"jp", "ja"},
    {"kr", "ko"},
    {"cn", "zh"},
    {"english", "en"},
    {"japanese", "ja"},
    {"german", "de"},
    {"french", "fr"},
    {"spanish", "es"},
    {"portuguese", "pt"},
    {"chinese", "zh"},
    {"korean", "ko"},
    {"port", "http"},
    {"workers", "threads"},
    {"uri", "url"},
    {"keys", "key"},
    {"by", "key"},
    {"group_by", "key"},
    {"variables", "key"},
    {"weight", "cost"},
    {"hits", "cost"},
    {"bucket", "token_bucket"},
    {"template", "preset"},
    {"missing", "on_missing"},
    {"proxies", "trusted_proxies"},
    {"trusted", "trusted_proxies"},
    {"hops", "trusted_hops"},
    {"num_trusted_hops", "trusted_hops"},
    {"source", "from"},
    {"attribute", "from"},
    {"fallback", "default"},
    {"else", "default"},
    {"ip", "client_ip"},
    {"remote_address", "client_ip"},
    {"remote_addr", "client_ip"},
    {"address", "client_ip"},
    {"uri", "path"},
    {"url", "path"},
    {"verb", "method"},
    {"headers", "header"},
    {"cost", "value"},
    {"tokens", "value"},
    {"remote", "peer"},
    {"xff", "x-forwarded-for"},
    {"public-api", "public-social-api"},
    {"internal", "internal-service"},
    {"payments", "payment-gateway"},
    {"upload", "photo-upload"},
};

// Words longer than this are nobody's typing slip.
constexpr std::size_t kLongestWord = 64;

// How many letters must be added, dropped, changed or swapped with their neighbour to get from
// one word to the other. Source: the restricted Damerau-Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Lower case, and '-' as '_', which people mix up.
std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == ' ') c = '_';
  }
  return out;
}

}  // namespace

std::optional<std::string_view> probably_meant(std::string_view read,
                                               std::span<const std::string_view> known) {
  if (read.size() > kLongestWord) return std::nullopt;
  const std::string word = folded(read);
  for (const Synonym& synonym : kSynonyms) {
    if (folded(synonym.theirs) != word) continue;
    const auto found = std::find(known.begin(), known.end(), synonym.ours);
    if (found != known.end()) return *found;
  }
  std::optional<std::string_view> best;
  // Two slips in a long word, one in a short one; a word of two letters can be anything.
  std::size_t best_distance = word.size() >= 6 ? 3 : word.size() >= 3 ? 2 : 1;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t slips = distance(word, folded(candidate));
    if (slips < best_distance) {
      best_distance = slips;
      best = candidate;
    }
  }
  return best;
}

std::string listed(std::span<const std::string_view> words) {
  constexpr std::size_t kMostNamed = 12;
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < kMostNamed; ++i) {
    if (i > 0) out += ", ";
    out += words[i];
  }
  return words.size() > kMostNamed ? out + " and others" : out;
}

std::string advice(std::string_view read, std::span<const std::string_view> known) {
  if (const auto meant = probably_meant(read, known)) {
    return "did you mean " + shown(*meant) + "?";
  }
  return "known are " + listed(known);
}

}  // namespace suimon
