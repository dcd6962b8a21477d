#include "pouncectl/time_span.h"

#include <regex>

namespace pounce::ctl {

Result<std::int64_t> seconds_of(const std::string& span) {
  static const std::regex kSpan("([0-9]{1,6})(min|h|d)");
  std::smatch found;
  if (!std::regex_match(span, found, kSpan))
    return failure(ErrorCode::kBadRequest, "\"" + span + "\" is no span of time", "Say for example 7d, 12h or 90min.");
  const std::int64_t unit = found[2] == "min" ? 60 : found[2] == "h" ? 3600 : 86400;
  return std::stoll(found[1]) * unit;
}

}  // namespace pounce::ctl
