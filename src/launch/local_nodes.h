// The nodes that the local launcher has where they are counted: a job's share of each, which is not more than Slurm
// gave, where a lease fits, and how its job is begun there. The first node is this machine. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::launch {

// What is handed out of each node. Pure.
struct LocalRoom {  // of one node
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;              // 0: not counted
  std::vector<std::string> gpus;             // by their names for CUDA
  std::string node{};                        // its name; empty: this machine's
  std::uint32_t relative = 0;                // its index among the nodes of Slurm's job
  std::vector<std::uint32_t> failed_gpus{};  // indexes into `gpus` that are no longer handed out
  std::uint32_t accidents = 0;               // jobs in a row that ended there by themselves

  // A supervisor outlives its tasks. If supervisors end by themselves, the node or the connection to it has failed.
  bool lost() const { return accidents >= 3; }
};
using LocalRooms = std::vector<LocalRoom>;

LocalRoom room_of(std::uint64_t cpus, std::uint64_t memory_mib, const std::string& gpus);  // "0,1"

// The place of a lease's workers on one node.
struct LocalPlace {
  std::uint32_t room = 0;           // index into the list of rooms
  std::vector<std::uint32_t> gpus;  // indexes into that room's list

  bool operator==(const LocalPlace&) const = default;
};
using LocalPlaces = std::vector<LocalPlace>;

// The part of the rooms that jobs hold.
class RoomUse {
 public:
  void add(const Resources& held, const LocalPlaces& places);
  struct OfRoom {
    std::uint64_t cpus = 0, memory_mib = 0;
    std::vector<std::uint32_t> gpus;
  };
  OfRoom of(std::uint32_t room) const { return room < rooms_.size() ? rooms_[room] : OfRoom{}; }

 private:
  std::vector<OfRoom> rooms_;
};

// kUnsatisfiable: it does not even fit into empty rooms.
Result<void> can_ever_fit(const LocalRooms& rooms, const Resources& resources);
// A place on each node for these resources, this machine first; nullopt: the job has to wait.
std::optional<LocalPlaces> fit(const LocalRooms& rooms, const RoomUse& used, const Resources& resources);

// How a local job is begun where it lies: by itself on this machine, as a step on another node of the Slurm job that we
// run in. Reads this process's environment: workers see the job's identity, and srun needs SLURM_CONF.

// slurm_job: Slurm's number of the job that the rooms' nodes belong to. Without rooms, devices are named by their
// numbers.
JobSpec begun_on(const LocalRooms& rooms, const std::string& slurm_job, JobSpec spec, const LocalPlaces& places);
std::string node_names(const LocalRooms& rooms, const LocalPlaces& places);  // as the workers on them report them

}  // namespace pounce::launch
