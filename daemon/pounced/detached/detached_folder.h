// The results folder of one user and cluster. Each detached task has a folder of its own name with `record` (written
// by pounced), `<task>.call` and `<task>.log` (by the kernel) and `<digest>.outcome` (by the worker), all 0600 in
// 0700. The kernel prepares the folder as `.<task>`, and a rename claims the name, so two pounceds never give one
// name twice. This class opens neither calls nor outcomes. Thread: loop.
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
