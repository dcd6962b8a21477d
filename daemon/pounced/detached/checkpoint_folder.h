// The checkpoints of tasks: `<task>.checkpoint` each, written by workers (python/pounce/_worker/checkpoints.py) and never
// opened here; `.new` while one is being written. Thread: loop.
#pragma once

#include <chrono>
#include <string>

#include "pounce/ids.h"

namespace pounce::daemon {

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  void remove(const TaskId& task) const;
  // Of tasks that nobody asked about any more; and what a worker left that died while it wrote.
  void remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const;

 private:
  const std::string path_;
};

}  // namespace pounce::daemon
