// One journal record as one line: {"crc32c":"xxxxxxxx","record":{...}}. The checksum covers the record's bytes as
// they stand in the line. Thread: any (values).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/lease/events.h"

namespace pounce::daemon {

struct JournalLine {
  // none: another version of pounce wrote the line; a reconciliation finds what it recorded
  std::optional<lease::JournalRecord> record;
};

std::string encode_journal_line(const lease::JournalRecord& record);  // with its newline
// A line without its newline; nullopt: damaged.
std::optional<JournalLine> decode_journal_line(std::string_view line);

}  // namespace pounce::daemon
