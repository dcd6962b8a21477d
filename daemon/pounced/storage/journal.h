// The instance's journal: an append-only 0600 file of checksummed lines. It is a hint, Slurm is the truth:
// what is damaged is moved aside and said, and the first reconciliation finds what it told. One writer: the start lock's holder.
// Thread: loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "core/lease/journal_record.h"
#include "pounce/result.h"

namespace pounce::daemon {

struct JournalContent {
  std::vector<lease::JournalRecord> records;  // up to the first damaged line
  std::size_t damaged_bytes = 0;              // from there to the end
};

JournalContent parse_journal(std::string_view text);
JournalContent read_journal(const std::string& path);  // no file: empty; one that is not ours or too long: damaged

// Without the leases that ended.
std::vector<lease::JournalRecord> open_records(const std::vector<lease::JournalRecord>& records);

class Journal {
 public:
  // Writes `records` as the whole new content (compaction) and opens it for appending. An old file with damage was kept
  // as <path>.damaged before.
  static Result<Journal> open(const std::string& path, const std::vector<lease::JournalRecord>& records);

  // sync: on disk when this returns. After a failure the file is as before.
  Result<void> append(const lease::JournalRecord& record, bool sync);

 private:
  explicit Journal(UniqueFd file, std::size_t size) : file_(std::move(file)), size_(size) {}
  UniqueFd file_;
  std::size_t size_;
};

// Moves a damaged journal aside; returns the name it got.
std::string set_aside(const std::string& path);

}  // namespace pounce::daemon
