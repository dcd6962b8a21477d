#include "pouncectl/policy_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/bounded_file.h"
#include "base/unique_fd.h"
#include "base/write_all.h"
#include "policy/policy_file.h"

namespace pounce::ctl {
namespace {

constexpr std::size_t kRecordBytes = 2 * policy::kMostPolicyBytes + (64 << 10);  // per record: the QoS before and after
constexpr mode_t kForAll = 0644;  // ignores the umask: root's may be narrow, and anyone may read the history

tl::unexpected<Error> cannot(const std::string& what) {
  return failure(ErrorCode::kBadRequest, what + ": " + std::strerror(errno),
                 "Run this as who may write there, or name another folder: --state FOLDER. Nothing was changed.");
}

bool write_down(int fd, const std::string& text) {
  return write_all(fd, text) && ::fchmod(fd, kForAll) == 0 && ::fsync(fd) == 0;
}

// "000012.json" -> 12
int number_of(const std::filesystem::path& path) {
  const std::string name = path.stem().string();
  const bool digits = !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos;
  return digits && path.extension() == ".json" ? std::stoi(name) : 0;
}

std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  std::error_code none;  // a missing folder: nothing was applied yet
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (const int number = number_of(entry.path()); number > 0) numbers.push_back(number);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

PolicyHistory::PolicyHistory(std::string folder) : folder_(std::move(folder)) {}

std::string PolicyHistory::path(const PolicyRecord& record) const {
  char name[32];
  std::snprintf(name, sizeof name, "/%06d.json", record.number);
  return folder_ + name;
}

Result<std::vector<PolicyRecord>> PolicyHistory::read() const {
  std::vector<PolicyRecord> records;
  for (const int number : numbers_in(folder_)) {
    PolicyRecord here;
    here.number = number;
    auto record = decode_record(read_whole(path(here), kRecordBytes).value_or(""));
    if (!record) return failure(ErrorCode::kBadRequest, path(here) + " is no record of a policy", "Move it away.");
    record->number = number;
    records.push_back(std::move(*record));
  }
  return records;
}

// O_EXCL gives each of two simultaneous applies its own record.
Result<void> PolicyHistory::begin(PolicyRecord& record) const {
  std::error_code told_by_open;
  std::filesystem::create_directories(folder_, told_by_open);
  const auto numbers = numbers_in(folder_);
  record.number = numbers.empty() ? 1 : numbers.back() + 1;
  UniqueFd file;
  while (true) {
    file = UniqueFd(::open(path(record).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAll));
    if (file || errno != EEXIST) break;
    ++record.number;
  }
  if (file && write_down(file.get(), encode_record(record))) return {};
  return cannot("cannot record what is changed in " + folder_);
}

Result<void> PolicyHistory::finish(const PolicyRecord& record) const {
  const std::string there = path(record), fresh = there + ".new";
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kForAll));
  if (file && write_down(file.get(), encode_record(record)) && ::rename(fresh.c_str(), there.c_str()) == 0) return {};
  return failure(ErrorCode::kBadRequest,
                 "the QoS were changed, but " + there + " could not be: " + std::strerror(errno),
                 "It has the state before the change: pouncectl policy rollback works.");
}

void PolicyHistory::forget(const PolicyRecord& record) const { ::unlink(path(record).c_str()); }

const PolicyRecord* to_undo(const std::vector<PolicyRecord>& records) {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const bool undone = std::ranges::any_of(records, [&](const auto& other) { return other.undoes == record->number; });
    if (record->undoes == 0 && !undone) return &*record;
  }
  return nullptr;
}

}  // namespace pounce::ctl
