// How many leases a pool wants: a decision from the work that waits, how long its tasks take, and how long a lease
// takes to arrive. Pure. Thread: any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace pounce::task {

// How long the tasks of one kind take, from those that ended.

// The average after one more value. Zero: no value yet.
constexpr Duration averaged(Duration before, Duration next) {
  return before == Duration{} ? next : before + (next - before) / 8;
}

class TaskTimes {
 public:
  // The first tasks load their modules and meet a cold machine: the shortest of a few counts, and one alone says
  // nothing. A later one counts as at most twice the usual time: a busy machine's hiccup says nothing of a thousand
  // tasks.
  void add(Duration taken) {
    ++seen_;
    usual_ = seen_ == 1      ? taken
             : seen_ <= kFew ? std::min(usual_, taken)
                             : averaged(usual_, std::min(taken, 2 * usual_));
  }
  Duration usual() const { return seen_ < 2 ? Duration{} : usual_; }  // zero: not known

 private:
  static constexpr std::uint32_t kFew = 4;
  std::uint32_t seen_ = 0;
  Duration usual_{};
};

struct PoolView {
  std::uint32_t least = 0, most = 1;   // leases
  std::uint32_t held = 0, coming = 0;  // leases with a worker, and requested ones
  std::uint32_t workers_each = 1;      // of one lease
  std::uint64_t waiting = 0;           // tasks that no worker has
  bool working = false;                // a worker has tasks
  Duration task{};                     // about how long a task takes; zero: not known
  Duration start{};                    // how long a lease takes to arrive
};

// Between `least` and `most` while there is work, else 0. A further lease is worth its start if it will find as much
// work as its start took. A second of short tasks wants no lease that would arrive too late; ten minutes of them want
// all that the pool may have.
std::uint32_t leases_wanted(const PoolView& pool);

}  // namespace pounce::task
