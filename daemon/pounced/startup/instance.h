// Which pounced this is, named by where it runs, and the other instances beside it: those of earlier boots, whose
// leases it takes over, and those that are gone, whose folders it removes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/lease/events.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "pounced/startup/folders.h"

namespace pounce::daemon {

// A restarted pounced is known again without any file, and two that must not touch each other's leases (another host,
// boot, network namespace or outer job) differ. Thread: any.
struct InstanceScope {
  std::string cluster, machine_id, boot_id;
  std::uint64_t network_namespace = 0;  // inode of /proc/self/ns/net
  std::uint32_t outer_job = 0;          // SLURM_JOB_ID of the job that we run in, or 0
  std::string state_folder;             // set only if it is not the usual one: such a daemon is another instance
  bool operator==(const InstanceScope&) const = default;
};

Result<InstanceScope> scope_here(const std::string& cluster, std::uint32_t outer_job);
InstanceId instance_id(const InstanceScope& scope);

// Whether `older` is the same place before the machine's last boot: its leases are ours to look after now.
bool is_previous_instance(const InstanceScope& older, const InstanceScope& now);

std::string boot_id();
std::uint32_t outer_job_from_environment();

// Daemons of earlier boots of this machine, by the `place` file in each state folder: their leases are ours to look
// after now. Their journals are read; the endpoint is published in their folders too, because their workers look for a
// daemon there. Thread: main, before the loop.
struct PreviousInstance {
  InstanceId instance;
  Folders folders;
  std::vector<lease::JournalRecord> open;
};

Result<void> write_scope(const Folders& folders, const InstanceScope& scope);
std::optional<InstanceScope> read_scope(const std::string& path);

// Returns the previous instances with leases that `own`, our journal, does not know to have ended. If all leases of
// one have ended, its journal is emptied: no daemon takes it over again, and its folder may go (instance.h).
std::vector<PreviousInstance> take_over_previous_instances(const Folders& ours, const InstanceScope& now,
                                                           const std::vector<lease::JournalRecord>& own);

// State folders of daemons that are gone for good: each boot and each notebook job is an instance of its own, so they
// pile up. One is removed once nothing is left to do for it: its daemon was one of this machine and cannot run any
// more, its leases have ended, and nothing was written in it for a day, so that its logs can still be read. What its
// leases used is kept. Thread: loop.
struct FolderFacts {
  std::optional<InstanceScope> scope;  // nullopt: not a state folder that this version can read
  std::optional<bool> runs;            // whether its daemon runs; nullopt: unknown from here
  bool open_leases = false;            // also true if a part of its journal cannot be read
  std::chrono::seconds quiet{};        // since anything in it was written
};

enum class FolderState {
  kUnknown,
  kMayRun,
  kElsewhere,   // of another machine, and quiet: unknown from here
  kOpenLeases,  // the next daemon in that place looks after them
  kFresh,       // gone, a short while ago
  kGone
};
FolderState state_of(const FolderFacts& facts, const InstanceScope& here);

// The instances beside ours, by name; a bounded number.
std::map<std::string, FolderState> look_at_others(const Folders& ours, const InstanceScope& here);

// Removes gone folders one step at a time, because a file server may be slow and the loop has other work.
class GoneFolders {
 public:
  // Our own `place` file, just written, gives the file server's time.
  GoneFolders(const Folders& ours, InstanceScope here);

  bool step();  // looks at one more; false: there was none

 private:
  void remove(const std::filesystem::path& folder);

  const Folders ours_;
  const InstanceScope here_;
  std::vector<std::filesystem::path> left_;
};

}  // namespace pounce::daemon
