// The identity of a pounced, derived from where it runs. A restarted pounced has the same identity without any file,
// and two that must not touch each other's leases (another host, boot, network namespace or outer job) differ.
// Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "pounce/ids.h"
#include "pounce/result.h"

namespace pounce::daemon {

struct Place {
  std::string cluster, machine_id, boot_id;
  std::uint64_t network_namespace = 0;  // inode of /proc/self/ns/net
  std::uint32_t outer_job = 0;          // SLURM_JOB_ID of the job that we run in, or 0
  std::string state_folder;             // set only if it is not the usual one: such a daemon is another instance
  bool operator==(const Place&) const = default;
};

Result<Place> place_here(const std::string& cluster, std::uint32_t outer_job);
InstanceId instance_id(const Place& place);

// Whether `older` is the same place before the machine's last boot: its leases are ours to look after now.
bool is_previous_instance(const Place& older, const Place& now);

std::string boot_id();
std::uint32_t outer_job_from_environment();

}  // namespace pounce::daemon
