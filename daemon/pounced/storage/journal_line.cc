#include "pounced/storage/journal_line.h"

#include <cstdio>

#include "model/json.h"
#include "pounced/storage/crc32c.h"

namespace pounce::daemon {
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

}  // namespace pounce::daemon
