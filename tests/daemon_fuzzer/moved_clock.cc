#include "daemon_fuzzer/moved_clock.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kWallStart_s = 1'700'000'000, kSteadyStart_s = 1'000'000;

bool moved = false;
std::int64_t passed_ns = 0;
std::mt19937_64 chance;

timespec shown(clockid_t clock) {
  const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  const std::int64_t ns = (wall ? kWallStart_s : kSteadyStart_s) * kSecond + passed_ns;
  return {ns / kSecond, ns % kSecond};
}

}  // namespace

// Seen by the C++ library too, which asks them for std::chrono's clocks.
#pragma GCC visibility push(default)
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (!moved) return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  *now = shown(clock);
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  if (!moved) return ::syscall(SYS_getrandom, bytes, size, flags);
  for (std::size_t i = 0; i < size; ++i) static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(chance());
  return static_cast<ssize_t>(size);
}

}  // extern "C"
#pragma GCC visibility pop

namespace pounce::daemon_fuzzer {

MovedClock::MovedClock() {
  moved = true;
  passed_ns = 0;
  chance.seed(1);
}

MovedClock::~MovedClock() { moved = false; }

void MovedClock::pass(std::chrono::nanoseconds time) { passed_ns += time.count(); }

}  // namespace pounce::daemon_fuzzer
