#include "launch/local_nodes.h"

#include <cstdlib>

#include "base/host_name.h"
#include "base/join.h"
#include "job/slurm_step.h"

namespace pounce::launch {
namespace {

// The names for CUDA_VISIBLE_DEVICES.
std::string gpu_names(const LocalRooms& rooms, const LocalPlace& place) {
  return joined(place.gpus, ",", [&](std::uint32_t gpu) { return rooms.empty() ? std::to_string(gpu) : rooms[place.room].gpus.at(gpu); });
}

}  // namespace

JobSpec begun_on(const LocalRooms& rooms, const std::string& slurm_job, JobSpec spec, const LocalPlaces& places) {
  const LocalPlace& first = places.front();
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
  return joined(places, ",", [&](const LocalPlace& place) { return place.room == 0 ? host_name() : rooms[place.room].node; });
}

}  // namespace pounce::launch
