#include "pounced/storage/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/write_all.h"
#include "pounced/storage/file.h"
#include "pounced/storage/journal_line.h"

namespace pounce::daemon {

using lease::JournalRecord;

JournalContent parse_journal(std::string_view text) {
  JournalContent content;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const auto line = newline == std::string_view::npos ? std::nullopt : decode_journal_line(text.substr(0, newline));
    if (!line) break;
    if (line->record) content.records.push_back(*line->record);
    text.remove_prefix(newline + 1);
  }
  content.damaged_bytes = text.size();
  return content;
}

JournalContent read_journal(const std::string& path) {
  if (const auto text = read_own_file(path, kMostJournalBytes)) return parse_journal(*text);
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  return {{}, absent ? 0 : static_cast<std::size_t>(size)};
}

std::vector<JournalRecord> open_records(const std::vector<JournalRecord>& records) {
  std::set<LeaseId> ended;
  for (const JournalRecord& record : records)
    if (record.kind == JournalRecord::Kind::kEnded) ended.insert(record.lease);
  std::vector<JournalRecord> open;
  for (const JournalRecord& record : records)
    if (!ended.contains(record.lease)) open.push_back(record);
  return open;
}

Result<Journal> Journal::open(const std::string& path, const std::vector<JournalRecord>& records) {
  std::string text;
  for (const JournalRecord& record : records) text += encode_journal_line(record);
  if (const auto written = replace_file(path, text); !written) return failure(written.error());
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return failure(ErrorCode::kInternal, path + " cannot be opened: " + std::strerror(errno));
  return Journal(std::move(file), text.size());
}

Result<void> Journal::append(const JournalRecord& record, bool sync) {
  const std::string line = encode_journal_line(record);
  if (!write_all(file_.get(), line) || (sync && ::fdatasync(file_.get()) != 0)) {
    const std::string why = std::strerror(errno);
    // A part of a line would make all later lines unreadable.
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
      return failure(ErrorCode::kInternal, "the journal cannot be written or mended: " + why);
    return failure(ErrorCode::kInternal, "the journal cannot be written: " + why);
  }
  size_ += line.size();
  return {};
}

std::string set_aside(const std::string& path) {
  const std::string aside = path + ".damaged";
  ::rename(path.c_str(), aside.c_str());
  return aside;
}

}  // namespace pounce::daemon
