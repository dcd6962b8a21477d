// What the local launcher hands out where it is counted: a job's share of each of its nodes, which is not more than Slurm gave. The
// first is this machine. Pure. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce::launch {

struct LocalRoom {  // of one node
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;   // 0: not counted
  std::vector<std::string> gpus;  // by their names for CUDA
  std::string node{};             // its name; empty: this machine's
  std::uint32_t relative = 0;     // which of the nodes of Slurm's job it is
  std::vector<std::uint32_t> failed_gpus{};  // places in `gpus`: nobody gets these any more
  std::uint32_t accidents = 0;    // so many in a row ended there by themselves

  // A supervisor outlives what its tasks do: where they end by themselves it is the node, or the way there, that has gone.
  bool lost() const { return accidents >= 3; }
};
using LocalRooms = std::vector<LocalRoom>;

LocalRoom room_of(std::uint64_t cpus, std::uint64_t memory_mib, const std::string& gpus);  // "0,1"

// Where a lease's workers of one node lie.
struct LocalPlace {
  std::uint32_t room = 0;           // place in the list of rooms
  std::vector<std::uint32_t> gpus;  // places in that room's list

  bool operator==(const LocalPlace&) const = default;
};
using LocalPlaces = std::vector<LocalPlace>;

// What jobs hold of them.
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

// kUnsatisfiable: not even empty rooms have it.
Result<void> can_ever_fit(const LocalRooms& rooms, const Resources& asked);
// A place on each node that it gets now, this machine first; nullopt: it has to wait.
std::optional<LocalPlaces> fit(const LocalRooms& rooms, const RoomUse& used, const Resources& asked);

}  // namespace pounce::launch
