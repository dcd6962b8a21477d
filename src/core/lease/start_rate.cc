#include "core/lease/start_rate.h"

#include <algorithm>

namespace pounce::lease {
namespace {
constexpr std::chrono::hours kHour{1};
}

TimePoint StartRate::next(TimePoint now, std::size_t an_hour, std::size_t before) {
  std::erase_if(starts_, [now](TimePoint start) { return start + kHour <= now; });
  const std::size_t free = an_hour - std::min(an_hour, starts_.size());
  if (before < free) return now;
  return (before - free < starts_.size() ? starts_[before - free] : now) + kHour;  // else behind one that starts now
}

}  // namespace pounce::lease
