// Who waits for room in the cluster, and what jobs of ours hold there: what decides whether an idle worker that is kept
// warm goes back. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pounce/fields.h"
#include "pounce/ids.h"

namespace pounce {

// An amount of what one node has.
struct Room {
  std::map<std::string, std::uint32_t> gpus;  // by type; of a request "" means any type
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  bool operator==(const Room&) const = default;

  static constexpr auto fields() {
    return table(field("gpus", &Room::gpus),
                 field("cpus", &Room::cpus),
                 field("memory_mib", &Room::memory_mib));
  }
};

// A queued job that waits for nothing but room (no limit, no other job, no time; nobody holds it).
struct RoomAsked {
  std::vector<std::string> partitions;
  std::string features;                          // of its nodes, as Slurm writes it: "a100&nvlink|h100"
  std::vector<std::string> only_nodes, not_nodes;
  std::uint32_t nodes = 1;
  Room each;                                     // on each of them
  bool own = false;                              // of the user who asks
  bool operator==(const RoomAsked&) const = default;

  static constexpr auto fields() {
    return table(field("partitions", &RoomAsked::partitions),
                 field("features", &RoomAsked::features),
                 field("only_nodes", &RoomAsked::only_nodes),
                 field("not_nodes", &RoomAsked::not_nodes),
                 field("nodes", &RoomAsked::nodes),
                 field("each", &RoomAsked::each),
                 field("own", &RoomAsked::own));
  }
};

struct RoomHeld {  // by one job of ours on one node
  JobIdentity job;
  std::string node;
  Room room;

  static constexpr auto fields() {
    return table(field("job", &RoomHeld::job),
                 field("node", &RoomHeld::node),
                 field("room", &RoomHeld::room));
  }
};

struct NodeRoom {  // a node that takes work: one on which ours run, or one with room
  std::string name;
  std::vector<std::string> partitions, features;
  Room free;

  static constexpr auto fields() {
    return table(field("name", &NodeRoom::name),
                 field("partitions", &NodeRoom::partitions),
                 field("features", &NodeRoom::features),
                 field("free", &NodeRoom::free));
  }
};

struct QueueSnapshot {
  bool hidden = false;             // the jobs of others are shown to nobody: who waits cannot be known
  std::vector<RoomAsked> waiting;  // who goes first first
  std::vector<RoomHeld> held;
  std::vector<NodeRoom> nodes;

  static constexpr auto fields() {
    return table(field("hidden", &QueueSnapshot::hidden),
                 field("waiting", &QueueSnapshot::waiting),
                 field("held", &QueueSnapshot::held),
                 field("nodes", &QueueSnapshot::nodes));
  }
};

}  // namespace pounce
