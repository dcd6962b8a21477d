// Drives the pure core: feeds it one event at a time, carries out its orders in sequence, and sets a timer for its
// next deadline. An order may be answered at once (by the local launcher); that event waits for its turn.
// Thread: loop.
#pragma once

#include <deque>
#include <functional>

#include "core/lease/lease_core.h"
#include "transport/event_loop.h"

namespace pounce::daemon {

class CoreDriver {
 public:
  using CarryOut = std::function<void(const lease::Action&)>;

  CoreDriver(transport::EventLoop& loop, lease::LeaseCore core) : loop_(loop), core_(std::move(core)) {}
  ~CoreDriver() { loop_.unwatch(timer_); }

  void start(CarryOut carry_out) { carry_out_ = std::move(carry_out); }
  void tell(lease::Event event);
  const lease::LeaseCore& core() const { return core_; }

 private:
  void arm();

  transport::EventLoop& loop_;
  lease::LeaseCore core_;
  CarryOut carry_out_;
  std::deque<lease::Event> waiting_;
  bool busy_ = false;
  transport::EventLoop::WatchId timer_ = 0;
  TimePoint armed_for_ = TimePoint::max();
};

}  // namespace pounce::daemon
