#include "suimon/reply/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "suimon/base/text.h"

namespace suimon {
namespace {

constexpr std::string_view kOutcomes = "aln";  // allowed, limited, never
constexpr std::size_t kMostToken = 8192;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// As the policy file allows it.
bool is_limit_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_plain);
}

void append_name(std::string_view name, std::string& out) {
  for (const char c : name) {
    if (is_plain(c)) {
      out.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02x}", static_cast<unsigned char>(c));
    }
  }
}

void append_wait(const std::optional<Duration>& wait, std::string& out) {
  if (wait) {
    append_number(wait->count(), out);
    out.push_back(',');
  } else {
    out += "-,";
  }
}

// Reads one token field by field; the first mistake stops everything after it.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }
  // Whether the field before the next space holds a comma.
  bool is_limit_next() const { return rest_.substr(0, rest_.find(' ')).find(',') != rest_.npos; }

  std::string_view until(char mark) {
    const auto at = rest_.find(mark);
    const std::string_view field = rest_.substr(0, at);
    rest_ = at == std::string_view::npos ? std::string_view{} : rest_.substr(at + 1);
    return field;
  }

  template <class Number>
  Number number(std::string_view field) {
    const auto value = parse_number<Number>(field);
    ok_ = ok_ && value;
    return value.value_or(Number{});
  }

  std::optional<Duration> wait(std::string_view field) {
    if (field == "-") return std::nullopt;
    return Duration(number<std::int64_t>(field));
  }

  Outcome outcome(std::string_view field) {
    const auto at = field.size() == 1 ? kOutcomes.find(field[0]) : std::string_view::npos;
    ok_ = ok_ && at != std::string_view::npos;
    return ok_ ? static_cast<Outcome>(at) : Outcome::never;
  }

  // The name's place in `names`, which grows by it.
  std::pair<std::size_t, std::size_t> name(std::string_view field, std::string& names) {
    const std::size_t begin = names.size();
    for (std::size_t i = 0; i < field.size() && ok_; ++i) {
      if (field[i] != '%') {
        ok_ = is_plain(field[i]);
        names.push_back(field[i]);
        continue;
      }
      unsigned value = 0;
      const char* const from = field.data() + i + 1;
      ok_ = i + 2 < field.size() && std::from_chars(from, from + 2, value, 16).ptr == from + 2 &&
            !is_plain(static_cast<char>(value));
      names.push_back(static_cast<char>(value));
      i += 2;
    }
    return {begin, names.size() - begin};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

void append_token(const Facts& facts, int status, std::string& out) {
  const auto letter = [](Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; };
  out += "1 ";
  out.push_back(letter(facts.outcome));
  out.push_back(' ');
  append_number(status, out);
  if (!facts.domain.empty()) {
    out.push_back(' ');
    append_name(facts.domain, out);
  }
  for (const LimitFacts& limit : facts.all()) {
    out.push_back(' ');
    append_name(limit.name, out);
    const auto part = [&out](std::integral auto number) {
      append_number(number, out);
      out.push_back(',');
    };
    out.push_back(',');
    out.push_back(letter(limit.outcome));
    out += limit.advertise ? ",1," : ",0,";
    part(limit.capacity);
    part(limit.cost);
    part(limit.remaining);
    part(limit.window.count());
    part(limit.reset_after.count());
    append_wait(limit.retry_after, out);
    append_wait(limit.next_token_after, out);
    append_name(limit.missing, out);
  }
}

Result<void> parse_token(std::string_view token, Told& told) {
  const auto refuse = [] { return failure("this is no verdict that suimon has written"); };
  told = Told{};
  if (token.size() > kMostToken || !token.starts_with("1 ")) return refuse();
  Reader reader(token.substr(2));
  told.facts.outcome = reader.outcome(reader.until(' '));
  told.status = reader.number<int>(reader.until(' '));
  if (!is_deny_status(told.status)) {
    return refuse();
  }
  told.names.reserve(token.size());  // views into it must not move
  if (!reader.is_limit_next()) {
    const auto domain = reader.name(reader.until(' '), told.names);
    told.facts.domain = std::string_view(told.names).substr(domain.first, domain.second);
  }
  while (reader.ok() && !reader.done()) {
    if (told.facts.size == kMostCharges) return refuse();
    LimitFacts& limit = told.facts.limits.emplace_back();
    ++told.facts.size;
    const std::string_view plain = reader.until(',');
    if (!is_limit_name(plain)) return refuse();  // it is written into header fields as it is
    const auto name = reader.name(plain, told.names);
    limit.outcome = reader.outcome(reader.until(','));
    limit.advertise = reader.until(',') == "1";
    limit.capacity = reader.number<std::uint64_t>(reader.until(','));
    limit.cost = reader.number<std::uint64_t>(reader.until(','));
    limit.remaining = reader.number<std::uint64_t>(reader.until(','));
    limit.window = Duration(reader.number<std::int64_t>(reader.until(',')));
    limit.reset_after = Duration(reader.number<std::int64_t>(reader.until(',')));
    limit.retry_after = reader.wait(reader.until(','));
    limit.next_token_after = reader.wait(reader.until(','));
    const auto missing = reader.name(reader.until(' '), told.names);
    limit.name = std::string_view(told.names).substr(name.first, name.second);
    limit.missing = std::string_view(told.names).substr(missing.first, missing.second);
    if (limit.name.empty() ||
        (limit.outcome == Outcome::limited) != limit.retry_after.has_value()) {
      return refuse();
    }
  }
  const auto limits = told.facts.all();
  // None at all is a refusal of which nothing more is known.
  const bool told_by_one =
      limits.empty() || std::any_of(limits.begin(), limits.end(), [&](const LimitFacts& limit) {
        return limit.outcome == told.facts.outcome;
      });
  return reader.ok() && told_by_one ? Result<void>{} : refuse();
}

}  // namespace suimon
