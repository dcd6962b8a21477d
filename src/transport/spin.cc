#include "transport/spin.h"

#include <sched.h>

#include <algorithm>

namespace pounce::transport {
namespace {

constexpr std::chrono::microseconds kSoon{400};  // a wait this short suggests that another call follows

bool one_for_each_end() {
  cpu_set_t ours;
  static const bool several = ::sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) > 1;
  return several;
}

Duration of(const timespec& limit) { return std::chrono::seconds(limit.tv_sec) + std::chrono::nanoseconds(limit.tv_nsec); }

}  // namespace

int Spin::poll(pollfd* items, std::size_t count, const timespec& limit) {
  if (of(limit) == Duration::zero()) return ::ppoll(items, count, &limit, nullptr);  // a mere check, not a wait
  const TimePoint begin = Clock::now();
  int ready = 0;
  if (hot_ && of(limit) > kLongest) ready = look(items, count, begin + kLongest);
  if (ready == 0) ready = ::ppoll(items, count, &limit, nullptr);
  hot_ = ready > 0 && in_vain_ < kMostInVain && one_for_each_end() && Clock::now() - begin < kSoon;
  if (ready > 0 && Clock::now() - begin < kSoon) in_vain_ = std::max(0, in_vain_ - 1);
  return ready;
}

int Spin::look(pollfd* items, std::size_t count, TimePoint until) {
  constexpr timespec kNow{};
  do {
    ++looks_;
    if (const int ready = ::ppoll(items, count, &kNow, nullptr); ready != 0) return ready;
  } while (Clock::now() < until);
  ++in_vain_;
  return 0;
}

}  // namespace pounce::transport
