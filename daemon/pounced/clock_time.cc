#include "pounced/clock_time.h"

#include <chrono>
#include <ctime>

namespace pounce::daemon {

std::string clock_time_of(TimePoint when) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(when - Clock::now());
  if (left <= left.zero()) return {};
  const std::time_t moment = std::time(nullptr) + left.count();
  std::tm local{};
  char text[6] = "";
  ::localtime_r(&moment, &local);
  std::strftime(text, sizeof text, "%H:%M", &local);
  return text;
}

}  // namespace pounce::daemon
