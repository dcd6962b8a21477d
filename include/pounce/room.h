// Who waits for room in the cluster, and what jobs of ours hold there: what decides whether an idle worker that is kept
// warm goes back. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/ids.h"

namespace pounce {

// An amount of what one node has.
struct Room {
  std::map<std::string, std::uint32_t> gpus;  // by type; of a request "" means any type
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  bool operator==(const Room&) const = default;
};

// A queued job that waits for nothing but room (no limit, no other job, no time; nobody holds it).
struct RoomAsked {
  std::vector<std::string> partitions;
  std::string features;                          // of its nodes, as Slurm writes it: "a100&nvlink|h100"
  std::vector<std::string> only_nodes, not_nodes;
  std::uint32_t nodes = 1;
  Room each;                                     // on each of them
  bool operator==(const RoomAsked&) const = default;
};

struct RoomHeld {  // by one job of ours on one node
  Incarnation job;
  std::string node;
  Room room;
};

struct NodeRoom {  // a node that takes work: one on which ours run, or one with room
  std::string name;
  std::vector<std::string> partitions, features;
  Room free;
};

struct QueueLook {
  bool hidden = false;             // the jobs of others are shown to nobody: who waits cannot be known
  std::vector<RoomAsked> waiting;  // who goes first first
  std::vector<RoomHeld> held;
  std::vector<NodeRoom> nodes;
};

}  // namespace pounce
