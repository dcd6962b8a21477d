#include "pounced/startup/instance.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "identity/digest.h"

namespace pounce::daemon {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::uint32_t outer_job_from_environment() {
  const char* text = std::getenv("SLURM_JOB_ID");
  std::uint32_t job = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), job);
  return job;
}

Result<Place> place_here(const std::string& cluster, std::uint32_t outer_job) {
  Place place;
  place.cluster = cluster;
  place.machine_id = first_line("/etc/machine-id");  // empty in some containers: boot and namespace tell them apart
  place.boot_id = boot_id();
  place.outer_job = outer_job;
  struct stat facts {};
  if (::stat("/proc/self/ns/net", &facts) != 0 || place.boot_id.empty())
    return failure(ErrorCode::kInternal, "pounced cannot tell where it runs: /proc is not readable");
  place.network_namespace = facts.st_ino;
  return place;
}

InstanceId instance_id(const Place& place) {
  std::vector<std::string> parts = {"pounce instance 1",
                                    place.cluster,
                                    place.machine_id,
                                    place.boot_id,
                                    std::to_string(place.network_namespace),
                                    std::to_string(place.outer_job)};
  if (!place.state_folder.empty()) parts.push_back(place.state_folder);
  const auto digest = identity::digest_of(parts);
  std::array<std::uint8_t, InstanceId::kBytes> bytes;
  std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  return InstanceId(bytes);
}

bool is_previous_instance(const Place& older, const Place& now) {
  Place same = older;
  same.boot_id = now.boot_id;
  return same == now && older.boot_id != now.boot_id;
}

}  // namespace pounce::daemon
