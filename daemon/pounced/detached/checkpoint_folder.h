// The checkpoints of tasks. Workers write them (python/pounce/_worker/checkpoints.py); pounced never opens one. The
// file of a task with a name is `<task>.checkpoint`, of any other `<session>-<task>.checkpoint`; `.new` marks one
// being written. Thread: loop.
#pragma once

#include <chrono>
#include <string>

#include "pounce/ids.h"

namespace pounce::daemon {

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  void remove(const TaskId& task) const;           // of a task with a name
  void remove_all_of(const SessionId& session) const;  // its client will not run its tasks again
  // Removes checkpoints of tasks that no client follows any more, and unfinished files of workers that died while
  // writing.
  void remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const;

 private:
  const std::string path_;
};

}  // namespace pounce::daemon
