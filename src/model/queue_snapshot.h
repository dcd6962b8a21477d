// Who waits for room in the cluster, and what jobs of ours hold there: what decides whether an idle worker that is
// kept warm goes back. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/fields.h"

namespace pounce {

// An amount of one node's resources.
struct Room {
  std::map<std::string, std::uint32_t> gpus;  // by type; in a request "" means any type
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
  bool operator==(const Room&) const = default;

  static constexpr auto fields() {
    return table(field("gpus", &Room::gpus), field("cpus", &Room::cpus), field("memory_mib", &Room::memory_mib));
  }
};

// A queued job that waits only for room (not for a limit, another job or a time, and not held).
struct RoomAsked {
  std::vector<std::string> partitions;
  std::string features;  // required of its nodes, in Slurm's form: "a100&nvlink|h100"
  std::vector<std::string> only_nodes, not_nodes;
  std::uint32_t nodes = 1;
  Room each;         // on each of them
  bool own = false;  // a job of the requesting user
  bool operator==(const RoomAsked&) const = default;

  static constexpr auto fields() {
    return table(field("partitions", &RoomAsked::partitions), field("features", &RoomAsked::features),
                 field("only_nodes", &RoomAsked::only_nodes), field("not_nodes", &RoomAsked::not_nodes),
                 field("nodes", &RoomAsked::nodes), field("each", &RoomAsked::each), field("own", &RoomAsked::own));
  }
};

struct RoomHeld {  // by one job of ours on one node
  JobIdentity job;
  std::string node;
  Room room;

  static constexpr auto fields() {
    return table(field("job", &RoomHeld::job), field("node", &RoomHeld::node), field("room", &RoomHeld::room));
  }
};

struct NodeRoom {  // a node that accepts work: with our jobs on it, or with room
  std::string name;
  std::vector<std::string> partitions, features;
  Room free;

  static constexpr auto fields() {
    return table(field("name", &NodeRoom::name), field("partitions", &NodeRoom::partitions),
                 field("features", &NodeRoom::features), field("free", &NodeRoom::free));
  }
};

struct QueueSnapshot {
  bool hidden = false;             // Slurm hides other users' jobs, so waiting ones are unknown
  std::vector<RoomAsked> waiting;  // in Slurm's order
  std::vector<RoomHeld> held;
  std::vector<NodeRoom> nodes;

  static constexpr auto fields() {
    return table(field("hidden", &QueueSnapshot::hidden), field("waiting", &QueueSnapshot::waiting),
                 field("held", &QueueSnapshot::held), field("nodes", &QueueSnapshot::nodes));
  }
};

}  // namespace pounce
