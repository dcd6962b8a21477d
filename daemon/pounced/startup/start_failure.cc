#include "pounced/startup/start_failure.h"

#include "base/log.h"
#include "pounced/storage/file.h"

namespace pounce::daemon {

void leave_start_failure(const Folders& folders, const LockOwner& starter, std::string_view report) {
  const auto left = replace_file(folders.start_failure(), encode_owner(starter).append(report));
  if (!left) spdlog::warn("{}", left.error().text);
}

std::optional<std::string> start_failure_of(const Folders& folders, const LockOwner& starter) {
  const auto text = read_own_file(folders.start_failure());
  if (!text) return std::nullopt;
  const std::size_t line = text->find('\n');
  if (line == std::string::npos || decode_owner(text->substr(0, line)) != starter) return std::nullopt;
  return text->substr(line + 1);
}

}  // namespace pounce::daemon
