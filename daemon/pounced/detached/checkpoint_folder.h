// The checkpoints of tasks, written by workers (python/pounce/_worker/checkpoints.py) and never opened here: of a task with a
// name `<task>.checkpoint`, of any other `<session>-<task>.checkpoint`; `.new` while one is being written. Thread: loop.
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
  // Of tasks that nobody asked about any more; and what a worker left that died while it wrote.
  void remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const;

 private:
  const std::string path_;
};

}  // namespace pounce::daemon
