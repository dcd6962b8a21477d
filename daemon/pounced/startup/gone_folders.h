// Removes state folders of daemons that are gone for good. Each boot and each notebook job is an instance of its own,
// so folders pile up. A folder goes when its daemon ran on this machine and cannot run any more, its leases have
// ended, and nothing was written in it for a day, so that its logs can still be read. The record of what its leases
// used is kept. Thread: loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pounced/startup/folders.h"
#include "pounced/startup/instance.h"

namespace pounce::daemon {

struct FolderFacts {
  std::optional<Place> place;  // nullopt: not a state folder that this version can read
  std::optional<bool> runs;    // whether its daemon runs; nullopt: unknown from here
  bool open_leases = false;    // also true if a part of its journal cannot be read
  std::chrono::seconds quiet{};  // since anything in it was written
};

enum class FolderState {
  kUnknown,
  kMayRun,
  kElsewhere,   // of another machine, and quiet: unknown from here
  kOpenLeases,  // the next daemon in that place looks after them
  kFresh,       // gone, a short while ago
  kGone
};
FolderState state_of(const FolderFacts& facts, const Place& here);

// The instances beside ours, by name; a bounded number.
std::map<std::string, FolderState> look_at_others(const Folders& ours, const Place& here);

// Removes gone folders one step at a time, because a file server may be slow and the loop has other work.
class GoneFolders {
 public:
  // Our own `place` file, just written, gives the file server's time.
  GoneFolders(const Folders& ours, Place here);

  bool step();  // looks at one more; false: there was none

 private:
  void remove(const std::filesystem::path& folder);

  const Folders ours_;
  const Place here_;
  std::vector<std::filesystem::path> left_;
};

}  // namespace pounce::daemon
