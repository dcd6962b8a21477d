#include "job/job_tag.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace pounce::job {
namespace {
constexpr std::string_view kPrefix = "pounce:1:";
constexpr std::string_view kHeld = " held";
constexpr std::chrono::seconds kRounding{60};

std::optional<std::uint64_t> seconds_after(std::string_view comment, std::string_view key) {
  const auto at = comment.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view number = comment.substr(at + key.size());
  std::uint64_t seconds = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), seconds);
  if (read.ec != std::errc{}) return std::nullopt;
  return seconds;
}
}  // namespace

std::string format_job_tag(const JobTag& tag) {
  return std::string(kPrefix) + tag.instance.hex() + ":" + tag.lease.hex();
}

std::optional<JobTag> parse_job_tag(std::string_view comment) {
  if (!comment.starts_with(kPrefix)) return std::nullopt;
  comment = comment.substr(0, comment.find(' '));  // drop the note behind the tag
  comment.remove_prefix(kPrefix.size());
  const auto colon = comment.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto instance = InstanceId::from_hex(comment.substr(0, colon));
  const auto lease = LeaseId::from_hex(comment.substr(colon + 1));
  if (!instance || !lease) return std::nullopt;
  return JobTag{*instance, *lease};
}

std::string format_hold_note(const JobTag& tag) { return format_job_tag(tag) + std::string(kHeld); }

std::string format_job_note(const JobTag& tag, bool held, std::chrono::seconds busy, std::chrono::seconds idle) {
  return (held ? format_hold_note(tag) : format_job_tag(tag)) + " busy=" + std::to_string(busy.count()) +
         "s idle=" + std::to_string(idle.count()) + "s";
}

bool tells_hold(std::string_view comment) {
  if (!parse_job_tag(comment)) return false;
  const auto note = comment.substr(std::min(comment.find(' '), comment.size()));
  return note == kHeld || note.starts_with(std::string(kHeld) + " ");
}

std::optional<NotedTimes> noted_times(std::string_view comment, std::chrono::seconds ran) {
  if (!parse_job_tag(comment)) return std::nullopt;
  const auto busy = seconds_after(comment, " busy="), idle = seconds_after(comment, " idle=");
  const auto most = static_cast<std::uint64_t>((std::max(ran, std::chrono::seconds(0)) + kRounding).count());
  if (!busy || !idle || *busy > most || *idle > most || *busy + *idle > most || *busy + *idle == 0) return std::nullopt;
  return NotedTimes{std::chrono::seconds(*busy), std::chrono::seconds(*idle)};
}

}  // namespace pounce::job
