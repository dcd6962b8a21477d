#include "launch/local_nodes.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/network.h"
#include "base/text.h"
#include "job/inside_job.h"

extern char** environ;

namespace pounce::launch {
namespace {

// A worker runs on one CPU at least, even if it requests none.
std::uint64_t cpus_of(const Resources& resources) {
  return std::max<std::uint64_t>(resources.node_cpus(), resources.workers_of_node());
}

// The GPUs for the workers of one node; nullopt: no room there.
std::optional<std::vector<std::uint32_t>> fit_here(const LocalRoom& room, const RoomUse::OfRoom& used,
                                                   const Resources& resources) {
  if (room.lost() || used.cpus + cpus_of(resources) > room.cpus) return std::nullopt;
  if (room.memory_mib > 0 && used.memory_mib + resources.node_memory_mib() > room.memory_mib) return std::nullopt;
  std::vector<std::uint32_t> given;
  for (std::uint32_t gpu = 0; gpu < room.gpus.size() && given.size() < resources.node_gpus(); ++gpu)
    if (std::ranges::count(used.gpus, gpu) + std::ranges::count(room.failed_gpus, gpu) == 0) given.push_back(gpu);
  if (given.size() < resources.node_gpus()) return std::nullopt;
  return given;
}

std::string words(const LocalRoom& room) {
  const std::string memory = room.memory_mib > 0 ? ", " + std::to_string(room.memory_mib) + " MiB of memory" : "";
  return std::to_string(room.cpus) + " CPUs" + memory + " and " + std::to_string(room.gpus.size()) + " GPUs" +
         (room.failed_gpus.empty() ? "" : ", of which " + std::to_string(room.failed_gpus.size()) + " failed,") +
         " on ";
}

std::string words(const LocalRooms& rooms) {
  std::string all;
  for (const LocalRoom& room : rooms)
    if (!room.lost()) all += (all.empty() ? "" : "; ") + words(room) + (room.node.empty() ? "this node" : room.node);
  return all;
}

}  // namespace

LocalRoom room_of(std::uint64_t cpus, std::uint64_t memory_mib, const std::string& gpus) {
  LocalRoom room{cpus, memory_mib, {}};
  std::istringstream list(gpus);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) room.gpus.push_back(name);
  return room;
}

void RoomUse::add(const Resources& held, const LocalPlaces& places) {
  for (const LocalPlace& place : places) {
    if (rooms_.size() <= place.room) rooms_.resize(place.room + 1);
    OfRoom& room = rooms_[place.room];
    room.cpus += cpus_of(held);
    room.memory_mib += held.node_memory_mib();
    room.gpus.insert(room.gpus.end(), place.gpus.begin(), place.gpus.end());
  }
}

Result<void> can_ever_fit(const LocalRooms& rooms, const Resources& resources) {
  if (fit(rooms, {}, resources)) return {};
  const auto nodes = std::ranges::count_if(rooms, [](const LocalRoom& room) { return !room.lost(); });
  if (nodes < resources.nodes)
    return failure(ErrorCode::kUnsatisfiable,
                   "this job has " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") + ", not " +
                       std::to_string(resources.nodes),
                   "Ask for fewer nodes, or give the job more.");
  return failure(ErrorCode::kUnsatisfiable, "this job has " + words(rooms), "Ask for less, or give the job more.");
}

std::optional<LocalPlaces> fit(const LocalRooms& rooms, const RoomUse& used, const Resources& resources) {
  LocalPlaces places;
  for (std::uint32_t room = 0; room < rooms.size() && places.size() < resources.nodes; ++room)
    if (auto gpus = fit_here(rooms[room], used.of(room), resources)) places.push_back({room, std::move(*gpus)});
  if (places.size() < resources.nodes) return std::nullopt;
  return places;
}

namespace {

// The names for CUDA_VISIBLE_DEVICES.
std::string gpu_names(const LocalRooms& rooms, const LocalPlace& place) {
  return joined(place.gpus, ",", [&](std::uint32_t gpu) {
    return rooms.empty() ? std::to_string(gpu) : rooms[place.room].gpus.at(gpu);
  });
}

}  // namespace

JobSpec begun_on(const LocalRooms& rooms, const std::string& slurm_job, JobSpec spec, const LocalPlaces& places) {
  const LocalPlace& first = places.front();
  job::pass_on_identity(environment_of(environ), spec.environment);
  if (!first.gpus.empty()) spec.environment["CUDA_VISIBLE_DEVICES"] = gpu_names(rooms, first);
  if (places.size() == 1 && first.room == 0) return spec;
  job::JobNodes nodes{slurm_job, {}};
  for (const LocalPlace& place : places) nodes.places.push_back({rooms[place.room].relative, gpu_names(rooms, place)});
  if (places.size() > 1) tell(nodes, spec.environment);
  if (const char* conf = std::getenv("SLURM_CONF")) spec.environment["SLURM_CONF"] = conf;
  if (first.room == 0) return spec;
  const auto step = job::step_command(slurm_job, nodes.places.front());
  spec.command.insert(spec.command.begin(), step.begin(), step.end());
  return spec;
}

std::string node_names(const LocalRooms& rooms, const LocalPlaces& places) {
  if (places.empty()) return host_name();
  return joined(places, ",",
                [&](const LocalPlace& place) { return place.room == 0 ? host_name() : rooms[place.room].node; });
}

}  // namespace pounce::launch
