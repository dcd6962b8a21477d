// The results folder of one user and cluster: a folder for each detached task, called as the task is. In it lie `record`
// (ours), `<task>.call` and `<task>.log` (made by the kernel), `<digest>.outcome` (made by the worker). All of it 0600 in
// 0700. The kernel prepares it as `.<task>`; a rename claims the name, so that two pounceds never give one name twice.
// Nothing here opens a call or an outcome. Thread: loop.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pounce/result.h"
#include "protocol/detached_record.h"

namespace pounce::daemon {

struct KeptOutcome {
  std::string digest;
  std::uint64_t size = 0;
};

class DetachedFolder {
 public:
  explicit DetachedFolder(std::string path) : path_(std::move(path)) {}

  std::string of(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const;  // its folder, whatever is in it
  std::vector<protocol::DetachedRecord> records() const;
  std::optional<protocol::DetachedRecord> record(const std::string& name) const;

  // kNameTaken when another task has it.
  Result<void> claim(const protocol::DetachedRecord& record);
  Result<void> save(const protocol::DetachedRecord& record) const;
  // Of one that has ended, where its end cannot be written now: whoever asks here is told it, and it is written when it can be.
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

// What becomes a folder's name: letters, digits, and . _ - inside, at most 64.
bool usable_name(const std::string& name);
bool is_digest(const std::string& text);

}  // namespace pounce::daemon
