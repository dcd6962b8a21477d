// What was applied, when and by whom, and what there was before: one file per apply or rollback, which anyone may read.
// Written before Slurm is changed and again afterwards, so that there is a way back from a change that was cut off.
// Thread: main.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pounce/qos.h"
#include "pounce/result.h"

namespace pounce::ctl {

struct PolicyRecord {
  int number = 0;  // the file's name
  std::string when, who, note, file;
  int undoes = 0;                    // a rollback: of this record
  bool done = false;                 // Slurm has said so
  std::vector<std::string> changed;  // QoS
  std::vector<Qos> before, after;    // all there were
};

class PolicyHistory {
 public:
  explicit PolicyHistory(std::string folder);

  Result<std::vector<PolicyRecord>> read() const;  // the oldest first; none where there is no folder
  Result<void> begin(PolicyRecord& record) const;  // gives it its number
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
