// What a supervisor is told: by pounced on its command line, by the batch system in the environment; and what user code
// may see of that environment. Nothing here is secret. Values. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "base/process.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "protocol/messages.h"

namespace pounce::worker {

struct SupervisorOptions {
  LeaseId lease;
  WorkerIndex worker;  // this worker, one of `workers`
  std::uint32_t workers = 1, nodes = 1;
  std::uint32_t node = 0;  // this node, one of `nodes`, counted from the batch host
  Epoch first_epoch;       // above the epochs of a supervisor that died in this place
  std::string handshake;   // tcp://host:port
  PublicKey daemon_key;
  protocol::Proof proof = protocol::Proof::kMunge;
  std::string munge_socket, key_file, endpoint_file;
  std::chrono::milliseconds heartbeat{5000};
  std::chrono::seconds watchdog_idle{150}, watchdog_busy{900};
  std::chrono::seconds leave{60};  // from the order to end, for an interpreter that saves its variables
  std::string stand_in;            // "CPU standing in", under the local launcher's stand_in_gpus
  std::string interface, ports;    // where interpreters listen: "ib0", "50000-50999"; empty: facing pounced, any port
  std::optional<Error> unfit;      // why the job's GPUs cannot be used
  std::vector<std::string> interpreter;  // argv prefix; "-m pounce._worker" is added
};

// Read from SLURM_JOB_ID, SLURM_RESTART_COUNT, SLURMD_NODENAME, SLURM_JOB_GPUS ...; without them the values are zero
// and the host name.
struct JobFacts {
  std::uint32_t job = 0, restart = 0;
  std::string node, devices;
  std::int64_t end_time_s = 0;  // SLURM_JOB_END_TIME, which Slurm 22.05 does not set; 0: not known
  std::string visible_gpus;     // CUDA_VISIBLE_DEVICES; empty under stand_in
};

// The environment on both sides of the interpreter's start. User code sees which job it runs in, no other SLURM_*
// (Lightning and others act on them) and nothing of ours but POUNCE_WORKER_JOB.
JobFacts job_facts(const Environment& environment, const std::string& stand_in, const std::string& host_name);
// Removes the variables of the batch system, of launchers and of pounce. CUDA_VISIBLE_DEVICES and the like stay.
Environment for_user_code(const Environment& environment);

// "tcp://10.0.0.1:5555" taken apart.
// The host without an IPv6 address's brackets; empty if it is no tcp endpoint.
inline std::string host_of(const std::string& endpoint) {
  constexpr char kTcp[] = "tcp://";
  constexpr std::size_t kPrefix = sizeof(kTcp) - 1;
  const auto colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kTcp) || colon == std::string::npos || colon <= kPrefix) return {};
  const std::string host = endpoint.substr(kPrefix, colon - kPrefix);
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace pounce::worker
