// What was applied, when and by which user, and what there was before: one file per apply or rollback, which anyone may
// read. Written before Slurm is changed and again afterwards, so that a change that was cut off can be undone.
// Thread: main.
#pragma once

#include <string>
#include <vector>

#include "model/qos.h"
#include "pounce/error.h"

namespace pounce::ctl {

struct PolicyRecord {
  int number = 0;  // the file's name
  std::string when, who, note, file;
  int undoes = 0;                    // for a rollback: the record that it reverts
  bool done = false;                 // confirmed by Slurm
  std::vector<std::string> changed;  // QoS
  std::vector<Qos> before, after;    // all QoS
};

class PolicyHistory {
 public:
  explicit PolicyHistory(std::string folder);

  Result<std::vector<PolicyRecord>> read() const;  // oldest first; empty without a folder
  Result<void> begin(PolicyRecord& record) const;  // assigns its number
  Result<void> finish(const PolicyRecord& record) const;
  void forget(const PolicyRecord& record) const;  // nothing was changed
  std::string path(const PolicyRecord& record) const;

 private:
  std::string folder_;
};

// The last apply that no rollback has undone; nullptr: none. Pure.
const PolicyRecord* to_undo(const std::vector<PolicyRecord>& records);

std::string encode_record(const PolicyRecord& record);
Result<PolicyRecord> decode_record(const std::string& text);

}  // namespace pounce::ctl
