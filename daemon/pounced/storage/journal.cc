// The instance's journal: its checksum, its lines, its file.

#include "pounced/storage/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/file_io.h"
#include "model/json.h"
#include "pounced/storage/file.h"

namespace pounce::daemon {

// CRC-32C (Castagnoli, RFC 3720 §B.4): finds any damage of up to 32 bits in a row in a journal line. Thread: any.
constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

static_assert(crc32c("123456789") == 0xE3069283u);  // the check value every catalogue of CRCs gives

namespace {

using lease::JournalRecord;

constexpr std::string_view kStart = "{\"crc32c\":\"", kMiddle = "\",\"record\":", kEnd = "}";
constexpr std::size_t kCrcDigits = 8;
constexpr int kVersion = 2;  // 1: other keys, without this one

struct Versioned {
  int v = 0;
  JournalRecord record;

  static constexpr auto fields() { return table(field("v", &Versioned::v), part(&Versioned::record)); }
};

std::string checksum(std::string_view body) {
  char text[kCrcDigits + 1];
  std::snprintf(text, sizeof text, "%08x", crc32c(body));
  return text;
}

}  // namespace

std::string encode_journal_line(const JournalRecord& record) {
  const std::string body = model::to_text(Versioned{kVersion, record});
  return std::string(kStart) + checksum(body) + std::string(kMiddle) + body + std::string(kEnd) + "\n";
}

std::optional<JournalLine> decode_journal_line(std::string_view line) {
  const std::size_t body_at = kStart.size() + kCrcDigits + kMiddle.size();
  if (line.size() < body_at + kEnd.size() || !line.starts_with(kStart) || !line.ends_with(kEnd)) return std::nullopt;
  if (line.substr(kStart.size() + kCrcDigits, kMiddle.size()) != kMiddle) return std::nullopt;
  const std::string_view body = line.substr(body_at, line.size() - body_at - kEnd.size());
  if (line.substr(kStart.size(), kCrcDigits) != checksum(body)) return std::nullopt;
  auto read = model::parse<Versioned>(body);
  if (!read || read->v != kVersion || read->record.lease.empty()) return JournalLine{};
  return JournalLine{std::move(read->record)};
}

using lease::JournalRecord;

namespace {

std::string text_of(const std::vector<JournalRecord>& records) {
  std::string text;
  for (const JournalRecord& record : records) text += encode_journal_line(record);
  return text;
}

}  // namespace

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
  if (const auto written = replace_file(path, text_of(records)); !written) return failure(written.error());
  Journal journal(path, open_records(records));
  if (const auto opened = journal.take_file(); !opened) return failure(opened.error());
  return journal;
}

Result<void> Journal::take_file() {
  UniqueFd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return failure(ErrorCode::kInternal, path_ + " cannot be opened: " + std::strerror(errno));
  file_ = std::move(file);
  size_ = static_cast<std::size_t>(facts.st_size);
  return {};
}

bool Journal::repair() {
  struct stat facts{};
  if (::fstat(file_.get(), &facts) != 0 || facts.st_nlink > 0) return false;
  return create_file(path_, text_of(open_)) && take_file();
}

Result<void> Journal::append(const JournalRecord& record, bool sync) {
  repair();
  if (sync && ::access(path_.c_str(), F_OK) != 0)
    return failure(ErrorCode::kInternal,
                   "the journal was removed and cannot be written anew: " + std::string(std::strerror(errno)));
  const std::string line = encode_journal_line(record);
  if (!write_all(file_.get(), line) || (sync && ::fdatasync(file_.get()) != 0)) {
    const std::string why = std::strerror(errno);
    // A partial line would make all later lines unreadable.
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
      return failure(ErrorCode::kInternal, "the journal cannot be written or mended: " + why);
    return failure(ErrorCode::kInternal, "the journal cannot be written: " + why);
  }
  size_ += line.size();
  open_.push_back(record);
  if (record.kind == JournalRecord::Kind::kEnded) open_ = open_records(open_);
  return {};
}

std::string set_aside(const std::string& path) {
  const std::string aside = path + ".damaged";
  ::rename(path.c_str(), aside.c_str());
  return aside;
}

}  // namespace pounce::daemon
