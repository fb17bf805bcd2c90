// The cures of the hazards of a concurrent table, each of which can be turned off, so that tests
// can show that the hazard is real and that the cure is what keeps it away (tests/table). The
// program uses all of them.
#pragma once

namespace suimon::table {

struct Cures {
  // A new key is PENDING until all its other candidates were looked at once more. Without: two
  // threads that see different free slots both insert it, and it has two buckets.
  bool verify = true;
  // What was reclaimed raises the horizon H, and a new key starts no earlier. Without: a thread
  // whose clock lags inserts the key again, full, before the instant at which it had been full.
  bool horizon = true;
  // H is read after the look at the other candidates. Without: the key may live and be reclaimed
  // between the two.
  bool horizon_after_verify = true;
  // A new key is decided at H when the thread's own clock lags behind it. Without: it is decided at
  // that clock, and somebody new is refused.
  bool late_newcomers = true;
  // A state is read as 16 bytes at once. Without: identity and state may be of two keys.
  bool wide_reads = true;
  // A key has three candidate lines. Without: one, and many keys find it full.
  bool three_lines = true;
  // Who goes first is who owes the smallest share of the capacity. Without: who is full again
  // first, so that one token of a slow limit outranks all tokens of a fast one.
  bool by_share = true;
  // Who is limited never goes. Without: a flood of invented keys pardons.
  bool spare_limited = true;
  // A change of parameters counts from its instant. Without: from when the state is next touched.
  bool change_at_its_instant = true;
  // While secrets are exchanged, a new key is looked for under its other secret, too, after its
  // mark was placed. Without: two threads insert it, one under each, and it has two buckets.
  bool both_keys = true;
  // A state leaves its older key and lives under the newer one in one step. Without: it is copied,
  // and what is charged under the older key meanwhile is forgotten.
  bool moves_at_once = true;
  // The state of a limit without a key has a place of its own. Without: it lies among the keys.
  bool own_places = true;
};

}  // namespace suimon::table
