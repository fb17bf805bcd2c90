#include "suimon/observe/loop_events.h"

#include <algorithm>

#include "suimon/base/address.h"
#include "suimon/policy/client_ip.h"

namespace suimon {
namespace {

constexpr std::string_view kClientIp = "client_ip";
constexpr std::int64_t kSecond = 1'000'000'000;
// So many may wait for the writer, who looks 20 times a second: 5 MB for each loop.
constexpr std::uint64_t kMostWaiting = 4096;

// Whether limit `a` of a refused verdict binds more than `b`: never before limited, then who waits
// longest. (As reply's Facts choose it; most refusals have one limit and compute no wait.)
bool binds_more(const Judged& judged, std::size_t a, std::size_t b) {
  const Outcome left = judged.outcome_of(a);
  const Outcome right = judged.outcome_of(b);
  if (left != right || left != Outcome::limited) return left > right;
  return judged.decisions[a].retry_after() > judged.decisions[b].retry_after();
}

// The network that `text` is an address in: of IPv4 the first 24 bits, of IPv6 the first 48. ""
// when it is no address.
std::string_view truncated(std::string_view text, std::array<char, 64>& buffer) {
  constexpr std::string_view kBits = "/24";
  auto address = parse_address(text);
  if (!address) return {};
  if (!address->is_v4()) return client_text(*address, 48, buffer);
  address->bytes.back() = 0;
  const std::size_t size = client_text(*address, 48, buffer).size();
  std::copy(kBits.begin(), kBits.end(), buffer.data() + size);
  return {buffer.data(), size + kBits.size()};
}

}  // namespace

LoopEvents::LoopEvents(Observer& next, Identify identify, std::uint64_t per_second)
    // The lines of the end of one second and of the beginning of the next may wait together.
    : next_(next),
      identify_(identify),
      budget_(per_second),
      ring_(std::min(2 * per_second, kMostWaiting)) {}

void LoopEvents::decided(DoorId door, const Verdict& verdict) {
  next_.decided(door, verdict);
  if (verdict.status != Verdict::Status::decided) return;
  for (std::size_t i = 0; i < verdict.shadows.applied.size(); ++i) {
    if (verdict.shadows.outcome_of(i) == Outcome::allowed) continue;
    refused(door, verdict, verdict.shadows, i, Event::Kind::shadow_limited);
  }
  if (verdict.allowed()) return;
  std::optional<std::size_t> binding;
  for (std::size_t i = 0; i < verdict.applied.size(); ++i) {
    if (verdict.outcome_of(i) == Outcome::allowed) continue;
    if (!binding || binds_more(verdict, i, *binding)) binding = i;
  }
  if (!binding) return;
  const bool never = verdict.outcome_of(*binding) == Outcome::never;
  refused(door, verdict, verdict, *binding, never ? Event::Kind::never : Event::Kind::limited);
}

void LoopEvents::refused(DoorId door, const Verdict& verdict, const Judged& judged,
                         std::size_t limit, Event::Kind kind) {
  const Applied& applied = judged.applied[limit];
  const ShapeNumber number = applied.rule->buckets.front().shape;
  Event* const event = budget_.admit(verdict.at.ns / kSecond, number) ? ring_.claim() : nullptr;
  if (event == nullptr) {
    dropped_.add();
    return;
  }
  event->at = verdict.at;
  event->door = door;
  event->kind = kind;
  event->limit_number = number;
  event->domain.assign(verdict.ruleset->domain);
  event->limit.assign(applied.rule->name);
  event->missing.assign(applied.missing == nullptr ? std::string_view{} : *applied.missing);
  event->capacity = applied.bucket->parameters.capacity;
  event->charged = limit < judged.decisions.size();
  if (event->charged) {
    const Decision& decision = judged.decisions[limit];
    event->key = judged.charges[limit].key;
    event->remaining = decision.remaining();
    event->cost = decision.cost();
    event->retry_after = decision.retry_after();
  }
  show_client(verdict, applied, *event);
  ring_.publish();
}

// Raw values do not even enter the ring unless they are asked for.
void LoopEvents::show_client(const Verdict& verdict, const Applied& applied, Event& event) const {
  event.shown = 0;
  if (identify_ == Identify::none || verdict.requests.empty()) return;
  const auto show = [&](std::string_view name, std::string_view value) {
    if (value.empty() || event.shown == Event::kMostShown) return;
    ShownAttribute& attribute = event.client[event.shown++];
    attribute.name.assign(name);
    attribute.value.assign(value);
  };
  const Ruleset& ruleset = *verdict.ruleset;
  const Request& request = verdict.requests[applied.request];
  const auto id = ruleset.find_attribute(kClientIp);  // none: no limit and no alias names it
  const std::string_view client = id ? ruleset.value_of(request, *id) : request.value_of(kClientIp);
  if (identify_ == Identify::truncated) {
    std::array<char, 64> buffer;
    show(kClientIp, truncated(client, buffer));
    return;
  }
  show(kClientIp, client);
  for (const AttributeId part : applied.rule->key) {
    const std::string& name = ruleset.attributes[part];
    if (name != kClientIp) show(name, ruleset.value_of(request, part));
  }
}

}  // namespace suimon
