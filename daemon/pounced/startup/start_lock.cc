#include "pounced/startup/start_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "launch/detached_process.h"
#include "pounced/startup/instance.h"
#include "pounced/storage/file.h"

namespace pounce::daemon {
namespace {

using nlohmann::json;

constexpr int kTries = 100;  // each lost try means that another process got further

std::uint64_t pid_namespace() {
  struct stat facts{};
  return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

std::optional<LockOwner> read_owner(const std::string& path) { return decode_owner(read_own_file(path).value_or("")); }

std::string path_of(const std::string& base, std::uint32_t number) { return base + "." + std::to_string(number); }

std::set<std::uint32_t> numbers_of(const std::string& base) {
  std::set<std::uint32_t> numbers;
  const std::filesystem::path path(base);
  const std::string start = path.filename().string() + ".";
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), unreadable)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(start)) continue;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + start.size(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.insert(number);
  }
  return numbers;
}

// Creates the lock exclusively and whole: the record is complete before its name exists.
Result<bool> make(const std::string& path, const LockOwner& owner) {
  const std::string draft = path + ".draft." + std::to_string(owner.pid);
  if (const auto written = replace_file(draft, encode_owner(owner)); !written) return failure(written.error());
  const int made = ::link(draft.c_str(), path.c_str());
  const int why = errno;
  ::unlink(draft.c_str());
  if (made == 0) return true;
  if (why == EEXIST) return false;
  return failure(ErrorCode::kDaemonUnavailable, path + " cannot be made: " + std::strerror(why));
}

void remove_older(const std::string& base, std::uint32_t number) {
  for (const std::uint32_t older : numbers_of(base))
    if (older < number) ::unlink(path_of(base, older).c_str());
}

}  // namespace

LockOwner this_process() {
  return {::getpid(), launch::start_ticks(::getpid()).value_or(0), pid_namespace(), boot_id()};
}

std::string encode_owner(const LockOwner& owner) {
  return json{{"pid", owner.pid},
              {"start_ticks", owner.start_ticks},
              {"pid_namespace", owner.pid_namespace},
              {"boot", owner.boot}}
             .dump() +
         "\n";
}

std::optional<LockOwner> decode_owner(const std::string& text) {
  const auto record = json::parse(text, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  try {
    return LockOwner{record.at("pid"), record.at("start_ticks"), record.at("pid_namespace"), record.at("boot")};
  } catch (const json::exception&) {
    return std::nullopt;  // it is written whole, so it was edited; an edited lock holds nothing
  }
}

std::optional<bool> runs(const LockOwner& owner) {
  if (owner.boot != boot_id()) return false;
  if (owner.pid_namespace != pid_namespace()) return std::nullopt;
  // start_ticks() gives none for an ended process, also if its adopter (a container's first process, say) never waits
  // for it.
  return owner.pid > 0 && launch::start_ticks(static_cast<pid_t>(owner.pid)) == owner.start_ticks;
}

std::optional<LockOwner> StartLock::holder(const std::string& base) {
  const auto numbers = numbers_of(base);
  if (numbers.empty()) return std::nullopt;
  const auto owner = read_owner(path_of(base, *numbers.rbegin()));
  return owner && runs(*owner).value_or(true) ? owner : std::nullopt;
}

bool StartLock::held(const std::string& base) const { return read_owner(path_of(base, number_)) == this_process(); }

void StartLock::show_life(const std::string& base) const {
  ::utimensat(AT_FDCWD, path_of(base, number_).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Result<std::optional<StartLock>> StartLock::take(const std::string& base, const LockOwner& owner) {
  for (int i = 0; i < kTries; ++i) {
    const auto seen = numbers_of(base);
    if (holder(base)) return std::optional<StartLock>();
    const std::uint32_t number = seen.empty() ? 1 : *seen.rbegin() + 1;
    const auto made = make(path_of(base, number), owner);
    if (!made) return failure(made.error());
    if (!*made) continue;
    if (*numbers_of(base).rbegin() != number) {
      ::unlink(path_of(base, number).c_str());
      continue;
    }
    remove_older(base, number);
    return std::optional<StartLock>(StartLock(number));
  }
  return failure(ErrorCode::kDaemonUnavailable, base + " changes hands all the time");
}

}  // namespace pounce::daemon
