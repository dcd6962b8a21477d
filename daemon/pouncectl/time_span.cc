#include "pouncectl/time_span.h"

#include "base/durations.h"

namespace pounce::ctl {

Result<std::int64_t> seconds_of(const std::string& span) {
  constexpr double kMost = 1'000'000 * 86400.0;
  const auto seconds = duration_s(span);
  if (!seconds || *seconds > kMost)
    return failure(ErrorCode::kBadRequest, "\"" + span + "\" is no span of time", "Say for example 7d, 12h or 90min.");
  return static_cast<std::int64_t>(*seconds);
}

}  // namespace pounce::ctl
