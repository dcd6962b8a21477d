// The instance's journal: an append-only 0600 file of checksummed lines. It is a hint, Slurm is the truth:
// what is damaged is moved aside and said, and the first reconciliation finds what it told. One writer: the start lock's holder.
// Thread: loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "core/lease/events.h"
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

  // Where somebody has removed the file: writes it anew, with the leases that are open. True: it did. One that is there
  // and not ours is another daemon's, and stays: then ours goes on without a name.
  bool mend();

 private:
  Journal(std::string path, std::vector<lease::JournalRecord> open) : path_(std::move(path)), open_(std::move(open)) {}
  Result<void> take_file();

  std::string path_;
  std::vector<lease::JournalRecord> open_;  // what the file says of leases that have not ended
  UniqueFd file_;
  std::size_t size_ = 0;
};

// Moves a damaged journal aside; returns the name it got.
std::string set_aside(const std::string& path);

}  // namespace pounce::daemon
