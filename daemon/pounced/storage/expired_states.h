// Removes saved variables of notebooks that nobody has saved or taken up for long. Each turn does little, for a folder may
// hold very many files on a slow disk, and others wait for this thread. Thread: loop.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parked/parked_folder.h"

namespace pounce::daemon {

class ExpiredStates {
 public:
  static constexpr std::size_t kFilesAtOnce = 64;
  static constexpr std::chrono::hours kLeastKept{1};  // as long as this they may be in use, whatever was configured

  // path: all of this user's states. keep: how long, asked before each look. now_s: seconds since 1970.
  ExpiredStates(std::string path, std::function<std::chrono::seconds()> keep, std::function<std::int64_t()> now_s)
      : path_(std::move(path)), keep_(std::move(keep)), now_s_(std::move(now_s)) {}

  // A look at one state, or a few files removed. False: nothing is left to do, and the next call begins anew.
  bool step();

 private:
  void begin();
  void look_at(std::string id);
  void remove_some(const std::string& aside);

  const std::string path_;
  const std::function<std::chrono::seconds()> keep_;
  const std::function<std::int64_t()> now_s_;
  std::optional<parked::ParkedFolder> folder_;  // open while there is something to do
  std::vector<std::string> left_, aside_;
};

}  // namespace pounce::daemon
