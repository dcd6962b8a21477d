#include "pounced/detached/checkpoint_folder.h"

#include <unistd.h>

#include <filesystem>

namespace pounce::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kWhole[] = ".checkpoint", kUnfinished[] = ".new";

}  // namespace

void CheckpointFolder::remove(const TaskId& task) const { ::unlink((path_ + "/" + task.hex() + kWhole).c_str()); }

void CheckpointFolder::remove_all_of(const SessionId& session) const {
  std::error_code trouble;  // remove_older() takes what stays
  for (const auto& entry : fs::directory_iterator(path_, trouble)) {
    std::error_code gone;
    if (entry.path().filename().string().starts_with(session.hex() + "-")) fs::remove(entry.path(), gone);
  }
}

void CheckpointFolder::remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const {
  std::error_code trouble;  // tried again at the next look
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(path_, trouble)) {
    std::error_code gone;
    const auto age = now - entry.last_write_time(gone);
    const fs::path kind = entry.path().extension();
    if (!gone && ((kind == kWhole && age > whole) || (kind == kUnfinished && age > unfinished))) fs::remove(entry.path(), gone);
  }
}

}  // namespace pounce::daemon
