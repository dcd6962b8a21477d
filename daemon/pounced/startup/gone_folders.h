// State folders of daemons that are gone for good: each boot and each notebook job is an instance of its own, so they pile up.
// One is removed once nothing is left to do for it: its daemon was one of this machine and cannot run any more, its leases
// have ended, and nothing was written in it for a day, so that its logs can still be read. What its leases used is kept.
// Thread: loop.
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
  std::optional<Place> place;  // nothing: it is no state folder that this version can read
  std::optional<bool> runs;    // its daemon; nothing: that cannot be told from here
  bool open_leases = false;    // or perhaps: a part of its journal cannot be read
  std::chrono::seconds quiet{};  // since anything in it was written
};

enum class FolderState {
  kUnknown,
  kMayRun,
  kElsewhere,   // of another machine, and quiet: nobody can tell from here
  kOpenLeases,  // whoever takes that place again looks after them
  kFresh,       // gone, a short while ago
  kGone
};
FolderState state_of(const FolderFacts& facts, const Place& here);

// The instances beside ours, by name; a bounded number.
std::map<std::string, FolderState> look_at_others(const Folders& ours, const Place& here);

// Removes those that are gone, one step at a time: a file server may be slow, and the loop has other work.
class GoneFolders {
 public:
  // Our own `place` file, just written, tells the file server's time.
  GoneFolders(const Folders& ours, Place here);

  bool step();  // looks at one more; false: there was none

 private:
  void remove(const std::filesystem::path& folder);

  const Folders ours_;
  const Place here_;
  std::vector<std::filesystem::path> left_;
};

}  // namespace pounce::daemon
