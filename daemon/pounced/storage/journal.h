// The instance's journal: an append-only 0600 file of checksummed lines. It is a hint, Slurm is the truth: what is
// damaged is moved aside and reported, and the first reconciliation finds what it contained. One writer: the holder of
// the start lock. Thread: loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "core/lease/events.h"
#include "pounce/error.h"

namespace pounce::daemon {

// One record as one line: {"crc32c":"xxxxxxxx","record":{...}}. The checksum covers the record's bytes as they stand in
// the line. Thread: any (values).
struct JournalLine {
  // none: another version of pounce wrote the line; a reconciliation finds what it recorded
  std::optional<lease::JournalRecord> record;
};

std::string encode_journal_line(const lease::JournalRecord& record);  // with its newline
// A line without its newline; nullopt: damaged.
std::optional<JournalLine> decode_journal_line(std::string_view line);

struct JournalContent {
  std::vector<lease::JournalRecord> records;  // up to the first damaged line
  std::size_t damaged_bytes = 0;              // from there to the end
};

JournalContent parse_journal(std::string_view text);
JournalContent read_journal(const std::string& path);  // no file: empty; one that is not ours or too long: damaged

// The records of leases that have not ended.
std::vector<lease::JournalRecord> open_records(const std::vector<lease::JournalRecord>& records);

class Journal {
 public:
  // Writes `records` as the whole new content (compaction) and opens it for appending. The caller has moved a damaged
  // old file to <path>.damaged.
  static Result<Journal> open(const std::string& path, const std::vector<lease::JournalRecord>& records);

  // sync: the record is on disk when this returns. After a failure the file is as before.
  Result<void> append(const lease::JournalRecord& record, bool sync);

  // Writes the file anew, with the open leases, if it was removed; returns true then. An existing file that is not
  // ours belongs to another daemon and stays: our journal then goes on without a name.
  bool repair();

 private:
  Journal(std::string path, std::vector<lease::JournalRecord> open) : path_(std::move(path)), open_(std::move(open)) {}
  Result<void> take_file();

  std::string path_;
  std::vector<lease::JournalRecord> open_;  // the file's records of leases that have not ended
  UniqueFd file_;
  std::size_t size_ = 0;
};

// Moves a damaged journal aside and returns its new name.
std::string set_aside(const std::string& path);

}  // namespace pounce::daemon
