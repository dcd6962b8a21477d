// Removes saved variables that no notebook has saved or restored for long. Each step does little, because a folder
// may hold very many files on a slow disk and other work waits for this thread. Thread: loop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "saved_state/saved_states.h"

namespace pounce::daemon {

class ExpiredStates {
 public:
  static constexpr std::size_t kFilesAtOnce = 64;
  static constexpr std::chrono::hours kLeastKept{1};  // whatever is configured: a younger state may be in use

  // path: the folder of this user's states. keep: how long to keep one, read before each look. now_s: seconds since
  // 1970.
  ExpiredStates(std::string path, std::function<std::chrono::seconds()> keep, std::function<std::int64_t()> now_s)
      : path_(std::move(path)), keep_(std::move(keep)), now_s_(std::move(now_s)) {}

  // Examines one state or removes a few files. False: nothing is left to do; the next call begins anew.
  bool step();

 private:
  void begin();
  void look_at(std::string id);
  void remove_some(const std::string& aside);

  const std::string path_;
  const std::function<std::chrono::seconds()> keep_;
  const std::function<std::int64_t()> now_s_;
  std::optional<saved_state::SavedStates> folder_;  // open while there is something to do
  std::vector<std::string> left_, aside_;
};

}  // namespace pounce::daemon
