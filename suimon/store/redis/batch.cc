#include "suimon/store/redis/batch.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
namespace suimon::redis {
namespace {

using detail::uint128;

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::string_view kNeverRoom =
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
    "\xff\xff\xff\xff";
// Far after all instants: the script leaves every record of such a limit to be converted.
constexpr std::uint64_t kFarSeconds = std::uint64_t{1} << 38;

void append_double(std::string& out, double number) {
  std::array<char, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  out.append(bytes.data(), bytes.size());
}

void append_double(std::string& out, uint128 number) {
  append_double(out, static_cast<double>(static_cast<std::uint64_t>(number)));
}

std::uint8_t code(Op op) {
  switch (op) {
    case Op::take:
    case Op::reserve:
      return 0;
    case Op::peek:
      return 1;
    case Op::take_up_to:
      return 2;
    case Op::give_back:
      return 3;
    case Op::force:
      return 4;
  }
  return 1;
}

}  // namespace

std::string flowing_back(Instant taken_at, const detail::Scale& scale, uint128 units) {
  std::string text;
  append_instant(text, taken_at);
  append_bytes(text, scale.scale, 9);
  append_bytes(text, scale.token, 9);
  append_bytes(text, units, 18);
  return text;
}

void Batch::begin(std::string_view name, const Clock& clock) {
  clock_ = clock;
  name_ = name;
  parts_.clear();
  tiers_.clear();
  begins_.clear();
  charges_.clear();
  keys_.clear();
  touches_.clear();
  index_.fill(0);
  asks_.clear();
  terms_.clear();
  ask_text_.clear();
  patches_ = 0;
}

std::size_t Batch::find(const Key& key) const {
  for (std::size_t at = key.low % index_.size();; at = (at + 1) % index_.size()) {
    if (index_[at] == 0) return kNone;
    if (keys_[index_[at] - 1U] == key) return index_[at] - 1U;
  }
}

std::size_t Batch::place(const Key& key) {
  std::size_t at = key.low % index_.size();
  for (; index_[at] != 0; at = (at + 1) % index_.size()) {
    if (keys_[index_[at] - 1U] == key) return index_[at] - 1U;
  }
  keys_.push_back(key);
  touches_.push_back(0);
  index_[at] = static_cast<std::uint16_t>(keys_.size());
  return keys_.size() - 1;
}

void Batch::add(const Part& part, const Lineage& lineage) {
  begins_.push_back(charges_.size());
  parts_.push_back(part);
  const std::size_t first = charges_.size();
  for (std::size_t i = 0; i < part.group->charges.size(); ++i) {
    if ((part.mask >> i & 1) == 0) continue;
    const Charge& charge = part.group->charges[i];
    const Tier* const tier = lineage.tier(charge.shape);
    const std::size_t key = place(charge.key);
    if (touches_[key] < 2) ++touches_[key];
    const Op op = part.look ? Op::peek : charge.op;
    tiers_.push_back(tier);
    charges_.push_back(
        {.key = static_cast<std::uint8_t>(key),
         .ask = ask({tier, op, charge.amount, op == Op::reserve ? charge.max_wait : Duration(0)}),
         .last = false,
         .first = charges_.size() == first});
  }
  charges_.back().last = true;
}

void Batch::add(const Patch& patch) {
  const std::size_t key = place(patch.key);
  touches_[key] = 2;
  if (patch_text_.size() < 4 * (patches_ + 1)) patch_text_.resize(4 * (patches_ + 1));
  std::string* const text = &patch_text_[4 * patches_++];
  text[0] = std::to_string(key + 1);
  text[1] = patch.expected;
  text[2] = patch.replacement;
  text[3] = patch.back;
}

std::uint8_t Batch::ask(const Ask& wanted) {
  // Hardly ever more than a few: the policy's costs.
  const auto found = std::find(asks_.rbegin(), asks_.rend(), wanted);
  if (found != asks_.rend()) return static_cast<std::uint8_t>(asks_.rend() - found - 1);
  asks_.push_back(wanted);
  terms_.push_back(terms_of(*wanted.tier));
  append_ask(wanted, terms_.back());
  return static_cast<std::uint8_t>(asks_.size() - 1);
}

void Batch::append_ask(const Ask& ask, const Terms& terms) {
  using Bucket = algorithms::TokenBucketLedger;
  const detail::Scale& scale = terms.scale;
  const bool tries = ask.op == Op::take || ask.op == Op::peek || ask.op == Op::reserve;
  const bool never = tries && ask.amount > scale.capacity;
  const std::uint64_t amount =
      ask.op == Op::take_up_to || never ? std::min(ask.amount, scale.capacity) : ask.amount;
  const uint128 need = static_cast<uint128>(amount) * scale.token;
  const Duration patience = ask.op == Op::reserve
                                ? std::clamp(ask.max_wait, Duration(0), Bucket::kLongestReservation)
                                : Duration(0);
  const uint128 most =
      scale.burst() + static_cast<uint128>(patience.count()) * scale.scale;  // debt afterwards
  const bool wide =
      scale.scale >= kExact || scale.token >= kExact || need >= kExact || most >= kExact;
  const uint128 room = tries ? most - need : scale.burst();
  ask_text_ += static_cast<char>(code(ask.op));
  ask_text_ += wide ? '\1' : '\0';
  for (const Instant instant : {terms.changed, terms.since}) {
    if (terms.mapped) {
      append_instant(ask_text_, instant);
    } else {
      append_bytes(ask_text_, kFarSeconds, 5);
      append_bytes(ask_text_, 0, 4);
    }
  }
  if (wide) {
    append_bytes(ask_text_, scale.scale, 9);
    append_bytes(ask_text_, scale.token, 9);
    append_bytes(ask_text_, need, 18);
    if (never) {
      ask_text_ += kNeverRoom;
    } else {
      append_bytes(ask_text_, room, 18);
    }
    return;
  }
  append_double(ask_text_, static_cast<uint128>(scale.scale));
  append_double(ask_text_, static_cast<uint128>(scale.token));
  append_double(ask_text_, need);
  never ? append_double(ask_text_, -1.0) : append_double(ask_text_, room);
}

void Batch::finish() {
  packed_.clear();
  packed_ += clock_.callers ? '\1' : '\0';
  append_instant(packed_, clock_.callers ? clock_.now : Instant{});
  append_bytes(packed_, asks_.size(), 2);
  append_bytes(packed_, charges_.size(), 2);
  packed_ += ask_text_;
  for (const Placed& charge : charges_) {
    const bool alone = charge.first && charge.last && touches_[charge.key] == 1;
    packed_ += static_cast<char>(charge.key);
    packed_ += static_cast<char>(charge.ask);
    packed_ += static_cast<char>((charge.last ? 1 : 0) | (alone ? 2 : 0));
  }
  key_text_.clear();
  for (const Key& key : keys_) {
    key_text_ += name_;
    append_name(key_text_, key);
  }
  key_views_.clear();
  const std::size_t size = keys_.empty() ? 0 : key_text_.size() / keys_.size();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    key_views_.push_back(std::string_view(key_text_).substr(i * size, size));
  }
  argument_views_.clear();
  argument_views_.emplace_back(packed_);
  for (std::size_t i = 0; i < 4 * patches_; ++i) argument_views_.emplace_back(patch_text_[i]);
}

bool Batch::read(const Value& answer) {
  const std::size_t count = keys_.size();
  if (answer.type != Value::Type::array || answer.elements.size() != count + 2) return false;
  const Value& words = answer.elements[count];
  const Value& time = answer.elements[count + 1];
  const bool known = words.text.find_first_not_of("01?") == std::string_view::npos;
  const auto at = parse_instant(time.text);
  if (words.text.size() != parts_.size() || !known || !at) return false;
  at_ = *at;
  words_ = words.text;
  if (found_.size() < count) found_.resize(count);
  states_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = answer.elements[i].text;
    found_[i].clear();
    if (const auto record = parse_record(text)) {
      found_[i] = text.substr(0, text.size() - kExpiryBytes);
      states_[i] = {.record = *record, .present = true, .dirty = false};
    }
  }
  return true;
}

Batch::Account Batch::account(const Charge& charge, std::size_t at) const {
  const std::size_t key = charges_[at].key;
  const Terms& terms = terms_[charges_[at].ask];
  const State& state = states_[key];
  Account account{
      .charge = &charge, .shape = {&terms}, .place = key, .stored = {}, .now = at_, .step = {}};
  if (!state.present) return account;
  Record record = state.record;
  // A clock that steps back, or another server's that lags, stands still for this key.
  if (!clock_.callers) account.now = std::max(at_, record.ledger.at);
  // Only behind a charge that refused the group: the script did not come to look at this one.
  if (!told_in(record, terms.scale) && !state.dirty && Lineage::foreign(record, terms)) {
    record = Lineage::converted(record, *tiers_[at], account.now);
  }
  account.stored = told_in(record, terms.scale)
                       ? record.ledger
                       : with_algorithm(terms.algorithm, [&](auto algorithm) {
                           const detail::Scale from{.scale = record.p, .token = record.q};
                           return algorithm.convert(record.ledger, from, terms.scale, account.now);
                         });
  return account;
}

bool Batch::decide(std::size_t part, Accounts& accounts) {
  const Part& its = parts_[part];
  std::size_t count = 0;
  for (std::size_t i = 0, at = begins_[part]; i < its.group->charges.size(); ++i) {
    if ((its.mask >> i & 1) == 0) continue;
    accounts[count++] = account(its.group->charges[i], at++);
  }
  const std::span<Account> span(accounts.data(), count);
  const bool taken = decide_jointly<Ledger, TierView>(span);
  if (!taken || its.look) return taken;
  for (const Account& account : span) {
    if (!account.step.writes) continue;
    const detail::Scale& scale = account.shape.scale();
    states_[account.place] = {
        .record = {account.step.after, scale.scale, scale.token}, .present = true, .dirty = true};
  }
  return true;
}

void Batch::convert(std::size_t part, std::vector<Patch>& patches) const {
  const std::size_t end = part + 1 < begins_.size() ? begins_[part + 1] : charges_.size();
  for (std::size_t at = begins_[part]; at < end; ++at) {
    const std::size_t key = charges_[at].key;
    const State& state = states_[key];
    if (!state.present || state.dirty || !Lineage::foreign(state.record, terms_of(*tiers_[at])))
      continue;
    const auto known = std::find_if(patches.begin(), patches.end(),
                                    [&](const Patch& patch) { return patch.key == keys_[key]; });
    if (known != patches.end()) continue;
    Patch patch{.key = keys_[key], .expected = found_[key], .replacement = {}, .back = {}};
    const Instant now = clock_.callers ? at_ : std::max(at_, state.record.ledger.at);
    append_record(patch.replacement, Lineage::converted(state.record, *tiers_[at], now));
    patches.push_back(std::move(patch));
  }
}

std::string Batch::record(const Key& key) const {
  const std::size_t at = find(key);
  if (at == kNone) return {};
  if (!states_[at].dirty) return found_[at];
  std::string bytes;
  append_record(bytes, states_[at].record);
  return bytes;
}

}  // namespace suimon::redis
