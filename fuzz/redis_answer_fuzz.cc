// What a Redis server answers to a batch: anything is no answer of the script's, or decides.
//
// The input: a byte for each element's length, eight of them, then their bytes.
#include <array>
#include <cstdlib>

#include "suimon/store/redis/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace suimon;
  struct Fixture {
    Fixture() {
      std::array<const Shape*, 3> all{};
      all[0] = *shapes.assign("a", "", Algorithm::token_bucket, {5, per_second(7)},
                              Instant(Duration(9)));
      all[1] = *shapes.assign("a", "b", Algorithm::token_bucket,
                              {1ULL << 60, {~0ULL, Duration(1LL << 61)}}, Instant::min());
      all[2] =
          *shapes.assign("a", "", Algorithm::token_bucket, {9, per_day(1)}, Instant(Duration(99)));
      lineage.adopt(all);
      lineage.refresh();
      for (const Shape* shape : all) lineage.map(*lineage.tier(shape->number)->line, Duration(0));
    }
    Shapes shapes;
    redis::Lineage lineage;
  };
  static Fixture fixture;

  std::array<Charge, 6> charges;
  std::array<Decision, 6> decisions;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    charges[i] = {.key = {0, i},
                  .amount = i,
                  .max_wait = std::chrono::hours(i),
                  .shape = static_cast<ShapeNumber>(i % 2),
                  .op = static_cast<Op>(i)};
  }
  std::array<Group, 2> groups{Group{{charges.data(), 3}, {decisions.data(), 3}},
                              Group{{charges.data() + 3, 3}, {decisions.data() + 3, 3}}};
  redis::Batch batch;
  batch.begin("", {});
  batch.add({.group = &groups[0], .mask = 7, .look = false}, fixture.lineage);
  batch.add({.group = &groups[1], .mask = 5, .look = false}, fixture.lineage);
  batch.finish();

  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<redis::Value, 8> elements;
  const std::string_view lengths = rest.substr(0, elements.size());
  rest.remove_prefix(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<unsigned char>(lengths[i]);
    elements[i].type = redis::Value::Type::text;
    elements[i].text = rest.substr(0, length);
    rest.remove_prefix(elements[i].text.size());
  }
  redis::Value answer;
  answer.type = redis::Value::Type::array;
  answer.elements = elements;
  answer.elements = answer.elements.first(batch.keys().size() + 2);
  if (!batch.read(answer)) return 0;
  redis::Batch::Accounts accounts;
  std::vector<redis::Patch> patches;
  for (std::size_t part = 0; part < 2; ++part) {
    if (batch.word(part) == redis::Batch::Word::undecided) {
      batch.convert(part, patches);
    } else {
      batch.decide(part, accounts);
    }
  }
  for (const redis::Patch& patch : patches) {
    const std::string kept = patch.replacement + std::string(redis::kExpiryBytes, '\0');
    if (!redis::parse_record(kept)) std::abort();
  }
  for (const Charge& charge : charges) {
    const std::string record = batch.record(charge.key);
    if (record.size() > 255) std::abort();
  }
  return 0;
}
