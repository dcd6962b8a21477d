#include "launch/local_room.h"

#include <algorithm>
#include <sstream>

namespace pounce::launch {
namespace {

// A worker runs on one CPU at least, whatever it says.
std::uint64_t cpus_of(const Resources& asked) { return std::max<std::uint64_t>(asked.node_cpus(), asked.workers_of_node()); }

}  // namespace

LocalRoom room_of(std::uint64_t cpus, std::uint64_t memory_mib, const std::string& gpus) {
  LocalRoom room{cpus, memory_mib, {}};
  std::istringstream list(gpus);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) room.gpus.push_back(name);
  return room;
}

void RoomUse::add(const Resources& held, const std::vector<std::uint32_t>& held_gpus) {
  cpus += cpus_of(held);
  memory_mib += held.node_memory_mib();
  gpus.insert(gpus.end(), held_gpus.begin(), held_gpus.end());
}

Result<void> can_ever_fit(const LocalRoom& room, const Resources& asked) {
  if (fit(room, {}, asked)) return {};
  const std::string memory = room.memory_mib > 0 ? ", " + std::to_string(room.memory_mib) + " MiB of memory" : "";
  return failure(ErrorCode::kUnsatisfiable,
                 "this job has " + std::to_string(room.cpus) + " CPUs" + memory + " and " + std::to_string(room.gpus.size()) + " GPUs on this node",
                 "Ask for less, or give the job more.");
}

std::optional<std::vector<std::uint32_t>> fit(const LocalRoom& room, const RoomUse& used, const Resources& asked) {
  if (used.cpus + cpus_of(asked) > room.cpus) return std::nullopt;
  if (room.memory_mib > 0 && used.memory_mib + asked.node_memory_mib() > room.memory_mib) return std::nullopt;
  std::vector<std::uint32_t> given;
  for (std::uint32_t gpu = 0; gpu < room.gpus.size() && given.size() < asked.node_gpus(); ++gpu)
    if (std::ranges::count(used.gpus, gpu) == 0) given.push_back(gpu);
  if (given.size() < asked.node_gpus()) return std::nullopt;
  return given;
}

}  // namespace pounce::launch
