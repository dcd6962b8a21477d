#include "pounced/leases/unix_time.h"

#include <chrono>
#include <ctime>

namespace pounce::daemon {

std::int64_t unix_time_of(TimePoint when) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(when - Clock::now());
  return left <= left.zero() ? 0 : std::time(nullptr) + left.count();
}

}  // namespace pounce::daemon
