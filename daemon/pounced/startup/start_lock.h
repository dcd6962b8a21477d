// Allows one daemon per instance. It is safe on network file systems: it uses no flock and no fcntl, only names that
// can be made once.
//
// The lock is a numbered file, lock.1, lock.2 ..., made whole and exclusively (link), with its owner's record inside.
// The highest number counts. When its owner is dead, exactly one process can take the next number; a process that
// finds a higher number than its own has lost. The highest file is never removed, so numbers never go back: a starter
// that was asleep between looking and acting cannot take a lock that another process took meanwhile. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pounce/error.h"

namespace pounce::daemon {

// Identifies a process, also against later ones with its number.
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
  // The lock's owner, if that process runs or if that cannot be told.
  static std::optional<LockOwner> holder(const std::string& base);

  // Touches the lock's file: its time shows that the owner lives to observers that cannot look at the process.
  void show_life(const std::string& base) const;

  // False: the file is gone or has another owner (the folder was removed while we ran).
  bool held(const std::string& base) const;

  std::uint32_t number() const { return number_; }

 private:
  explicit StartLock(std::uint32_t number) : number_(number) {}
  std::uint32_t number_;
};

}  // namespace pounce::daemon
