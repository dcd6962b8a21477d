#include "pounced/leases/core_driver.h"

namespace pounce::daemon {

void CoreDriver::tell(lease::Event event) {
  waiting_.push_back(std::move(event));
  if (busy_) return;
  busy_ = true;
  while (!waiting_.empty()) {
    const lease::Event next = std::move(waiting_.front());
    waiting_.pop_front();
    for (const lease::Action& action : core_.handle(next, Clock::now())) carry_out_(action);
#ifndef NDEBUG
    core_.check_invariants();
#endif
  }
  busy_ = false;
  arm();
}

void CoreDriver::arm() {
  const TimePoint deadline = core_.next_deadline();
  if (timer_ != 0 && deadline == armed_for_) return;
  loop_.unwatch(timer_);
  timer_ = 0;
  armed_for_ = deadline;
  if (deadline == TimePoint::max()) return;
  timer_ = loop_.at(deadline, [this] {
    timer_ = 0;
    tell(lease::TimePassed{});
  });
}

}  // namespace pounce::daemon
