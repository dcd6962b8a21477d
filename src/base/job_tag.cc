#include "base/job_tag.h"

namespace pounce {
namespace {
constexpr std::string_view kPrefix = "pounce:1:";
}

std::string format_job_tag(const JobTag& tag) {
  return std::string(kPrefix) + tag.instance.hex() + ":" + tag.lease.hex();
}

std::optional<JobTag> parse_job_tag(std::string_view comment) {
  if (!comment.starts_with(kPrefix)) return std::nullopt;
  comment.remove_prefix(kPrefix.size());
  const auto colon = comment.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto instance = InstanceId::from_hex(comment.substr(0, colon));
  const auto lease = LeaseId::from_hex(comment.substr(colon + 1));
  if (!instance || !lease) return std::nullopt;
  return JobTag{*instance, *lease};
}

}  // namespace pounce
