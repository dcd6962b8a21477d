// Files of tasks that outlive their kernel: the results folder of detached tasks, and checkpoints. Thread: loop.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/error.h"
#include "protocol/state_files.h"

namespace pounce::daemon {

// The checkpoints of tasks, written by workers (python/pounce/_worker/checkpoints.py) and never opened here: of a task
// with a name `<task>.checkpoint`, of any other `<session>-<task>.checkpoint`; `.new` while one is being written.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  void remove(const TaskId& task) const;               // of a task with a name
  void remove_all_of(const SessionId& session) const;  // its client will not run its tasks again
  // Removes checkpoints of tasks that no client follows any more, and unfinished files of workers that died while
  // writing.
  void remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const;

 private:
  const std::string path_;
};

// The results folder of one user and cluster: a folder for each detached task, called as the task is. In it lie
// `record` (ours), `<task>.call` and `<task>.log` (made by the kernel), `<digest>.outcome` (made by the worker). All of
// it is 0600 in 0700. The kernel prepares it as `.<task>`; a rename claims the name, so that two pounceds never give
// one name twice. Nothing here opens a call or an outcome.
struct KeptOutcome {
  std::string digest;
  std::uint64_t size = 0;
};

class DetachedFolder {
 public:
  explicit DetachedFolder(std::string path) : path_(std::move(path)) {}

  std::string of(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const;  // whether its folder exists, whatever is in it
  std::vector<protocol::DetachedRecord> records() const;
  std::optional<protocol::DetachedRecord> record(const std::string& name) const;

  // kNameTaken when another task has the name.
  Result<void> claim(const protocol::DetachedRecord& record);
  Result<void> save(const protocol::DetachedRecord& record) const;
  // Keeps the record of an ended task that cannot be written now. record() returns it meanwhile; write_kept()
  // retries.
  void keep(protocol::DetachedRecord record);
  void write_kept();
  std::optional<KeptOutcome> outcome(const std::string& name) const;
  void drop_call(const protocol::DetachedRow& row) const;  // it will not run any more
  void remove(const std::string& name);
  void remove_unclaimed(std::chrono::hours older) const;  // prepared by kernels that died before they claimed

 private:
  std::string path_;
  std::map<std::string, protocol::DetachedRecord> unwritten_;  // by its name
};

// Whether `name` can be a folder's name: at most 64 letters, digits and . _ -, beginning with a letter or digit.
bool usable_name(const std::string& name);
bool is_digest(const std::string& text);

}  // namespace pounce::daemon
