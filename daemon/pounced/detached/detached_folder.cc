// Files of tasks that outlive their kernel: the results folder of detached tasks, and checkpoints.

#include "pounced/detached/detached_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "pounced/storage/file.h"

namespace pounce::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char kWhole[] = ".checkpoint", kUnfinished[] = ".new";

}  // namespace

void CheckpointFolder::remove(const TaskId& task) const { ::unlink((path_ + "/" + task.hex() + kWhole).c_str()); }

void CheckpointFolder::remove_all_of(const SessionId& session) const {
  std::error_code trouble;  // remove_older() takes what stays
  for (const auto& entry : fs::directory_iterator(path_, trouble)) {
    std::error_code gone;
    if (entry.path().filename().string().starts_with(session.hex() + "-")) fs::remove(entry.path(), gone);
  }
}

void CheckpointFolder::remove_older(std::chrono::seconds whole, std::chrono::seconds unfinished) const {
  std::error_code trouble;  // tried again at the next look
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(path_, trouble)) {
    std::error_code gone;
    const auto age = now - entry.last_write_time(gone);
    const fs::path kind = entry.path().extension();
    if (!gone && ((kind == kWhole && age > whole) || (kind == kUnfinished && age > unfinished)))
      fs::remove(entry.path(), gone);
  }
}

namespace {

namespace fs = std::filesystem;
using protocol::DetachedRecord;

constexpr std::size_t kNameLength = 64, kDigestLength = 64;
constexpr char kOutcome[] = ".outcome", kRecord[] = "/record";

bool private_folder(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & 077) == 0;
}

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

bool usable_name(const std::string& name) {
  return !name.empty() && name.size() <= kNameLength && letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_digest(const std::string& text) {
  return text.size() == kDigestLength &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool DetachedFolder::has(const std::string& name) const { return usable_name(name) && private_folder(of(name)); }

std::optional<DetachedRecord> DetachedFolder::record(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  if (const auto kept = unwritten_.find(name); kept != unwritten_.end()) return kept->second;
  const auto text = read_own_file(of(name) + kRecord);
  auto record = text ? protocol::decode_detached_record(*text) : std::nullopt;
  if (!record || record->row.name != name) return std::nullopt;
  return record;
}

std::vector<DetachedRecord> DetachedFolder::records() const {
  std::vector<DetachedRecord> found;
  std::error_code trouble;  // what cannot be read now is read at the next call
  for (const auto& entry : fs::directory_iterator(path_, trouble))
    if (auto one = record(entry.path().filename())) found.push_back(std::move(*one));
  return found;
}

Result<void> DetachedFolder::claim(const DetachedRecord& record) {
  const std::string prepared = path_ + "/." + record.row.task.hex();
  if (!private_folder(prepared)) return failure(ErrorCode::kBadRequest, "nothing is prepared in " + prepared);
  const std::string text = protocol::encode_detached_record(record);
  if (const auto written = replace_file(prepared + kRecord, text); !written) return written;
  if (::rename(prepared.c_str(), of(record.row.name).c_str()) == 0) {
    unwritten_.erase(record.row.name);  // of an earlier task whose folder was removed
    return {};
  }
  if (errno == EEXIST || errno == ENOTEMPTY)
    return failure(ErrorCode::kNameTaken, "a task has the name " + record.row.name + " already");
  return failure(ErrorCode::kInternal, of(record.row.name) + " cannot be made: " + std::strerror(errno));
}

Result<void> DetachedFolder::save(const DetachedRecord& record) const {
  return replace_file(of(record.row.name) + kRecord, protocol::encode_detached_record(record));
}

void DetachedFolder::keep(DetachedRecord record) {
  std::string name = record.row.name;
  unwritten_.insert_or_assign(std::move(name), std::move(record));
}

void DetachedFolder::write_kept() {
  std::erase_if(unwritten_, [this](const auto& entry) { return !has(entry.first) || save(entry.second); });
}

std::optional<KeptOutcome> DetachedFolder::outcome(const std::string& name) const {
  std::error_code trouble;
  for (const auto& entry : fs::directory_iterator(of(name), trouble)) {
    if (entry.path().extension() != kOutcome || !is_digest(entry.path().stem())) continue;
    return KeptOutcome{entry.path().stem(), entry.file_size(trouble)};
  }
  return std::nullopt;
}

void DetachedFolder::drop_call(const protocol::DetachedRow& row) const {
  ::unlink((of(row.name) + "/" + row.task.hex() + ".call").c_str());
}

void DetachedFolder::remove(const std::string& name) {
  unwritten_.erase(name);
  std::error_code trouble;  // tried again at the next look
  if (usable_name(name)) fs::remove_all(of(name), trouble);
}

void DetachedFolder::remove_unclaimed(std::chrono::hours older) const {
  std::error_code trouble;
  const auto before = fs::file_time_type::clock::now() - older;
  for (const auto& entry : fs::directory_iterator(path_, trouble))
    if (entry.path().filename().string().starts_with('.') && entry.last_write_time(trouble) < before)
      fs::remove_all(entry.path(), trouble);
}

}  // namespace pounce::daemon
