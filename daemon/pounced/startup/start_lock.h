// One daemon per instance. Safe on network file systems: no flock, no fcntl, only names that can be made once.
//
// The lock is a numbered file, lock.1, lock.2 ...: made whole and exclusively (link), with its owner's record inside.
// The highest number counts. Its owner dead, the next number is free for exactly one process; whoever finds a higher
// number than its own has lost. The highest file is never removed, so numbers never go back: a starter that was asleep
// between looking and acting cannot take what somebody else took meanwhile. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pounce/result.h"

namespace pounce::daemon {

// A process, told apart from later ones with its number.
struct LockOwner {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;    // /proc/PID/stat, field 22
  std::uint64_t pid_namespace = 0;  // inode; a record from another namespace cannot be looked up
  std::string boot;
  bool operator==(const LockOwner&) const = default;
};

LockOwner this_process();
std::string encode_owner(const LockOwner& owner);  // a line of JSON
std::optional<LockOwner> decode_owner(const std::string& text);
// Whether that process still runs; nullopt: cannot be told from here (another PID namespace of this boot).
std::optional<bool> runs(const LockOwner& owner);

class StartLock {
 public:
  // base: ".../lock". nullopt: another process has it.
  static Result<std::optional<StartLock>> take(const std::string& base, const LockOwner& owner = this_process());
  // Who has it, if that process runs (or if it cannot be told).
  static std::optional<LockOwner> holder(const std::string& base);

  // Its file's time says that its owner lives, to whoever cannot look at the process.
  void show_life(const std::string& base) const;

  // False: the file is gone or somebody else's (the folder was removed while we ran).
  bool held(const std::string& base) const;

  std::uint32_t number() const { return number_; }

 private:
  explicit StartLock(std::uint32_t number) : number_(number) {}
  std::uint32_t number_;
};

}  // namespace pounce::daemon
