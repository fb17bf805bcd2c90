// One deadline of an object that has several: it calls a member function of it.
//
// Thread rule: the loop's thread.
#pragma once

#include "suimon/net/loop.h"

namespace suimon::redis {

template <class Owner, void (Owner::*kRing)()>
class Alarm final : private net::TimerTarget {
 public:
  Alarm(net::Loop& loop, Owner& owner) : loop_(loop), owner_(owner) {}
  ~Alarm() { cancel(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Rings at `at` or before: an earlier deadline stays as it is, so that moving one back costs
  // nothing. Whoever is called looks whether it is time.
  void by(Instant at) {
    if (id_.number != 0 && id_.at <= at) return;
    cancel();
    id_ = loop_.timers().add(at, *this);
  }
  // Rings before the loop sleeps again.
  void soon() { by(loop_.now()); }
  void cancel() {
    if (id_.number != 0) loop_.timers().cancel(id_);
    id_ = {};
  }
  bool armed() const { return id_.number != 0; }

 private:
  void on_timer(Instant) override {
    id_ = {};
    (owner_.*kRing)();
  }

  net::Loop& loop_;
  Owner& owner_;
  net::Timers::Id id_;
};

}  // namespace suimon::redis
