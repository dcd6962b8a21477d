// The history of applied policies: its records as text, and their files.

#include "pouncectl/policy/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_io.h"
#include "base/unique_fd.h"
#include "model/json.h"
#include "policy/policy.h"

namespace pounce::ctl {

// A record as text. The QoS are kept as policies are written, so that a state can be applied by hand.

namespace {

using nlohmann::json;

json as_policy(const std::vector<Qos>& qos) { return json::parse(policy::policy_text(qos)); }

Result<std::vector<Qos>> qos_in(const json& document) {
  const auto read = policy::parse_policy(document.dump());
  if (!read) return failure(read.error());
  return policy::all_qos(*read);
}

}  // namespace

// Replaces invalid UTF-8 of a user's text instead of throwing.
std::string encode_record(const PolicyRecord& record) {
  const json document = {{"v", 1},
                         {"when", record.when},
                         {"who", record.who},
                         {"note", record.note},
                         {"file", record.file},
                         {"undoes", record.undoes},
                         {"done", record.done},
                         {"changed", record.changed},
                         {"before", as_policy(record.before)},
                         {"after", as_policy(record.after)}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<PolicyRecord> decode_record(const std::string& text) {
  try {
    const json document = json::parse(text);
    PolicyRecord record;
    document.at("when").get_to(record.when);
    document.at("who").get_to(record.who);
    document.at("note").get_to(record.note);
    document.at("file").get_to(record.file);
    record.undoes = model::from_json<int>(document.at("undoes"));
    document.at("done").get_to(record.done);
    document.at("changed").get_to(record.changed);
    const auto before = qos_in(document.at("before")), after = qos_in(document.at("after"));
    if (!before || !after) return failure(before ? after.error() : before.error());
    record.before = *before;
    record.after = *after;
    return record;
  } catch (const json::exception& error) {
    return failure(ErrorCode::kBadRequest, std::string("no record of a policy: ") + error.what());
  }
}

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
