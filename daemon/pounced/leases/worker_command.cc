#include "pounced/leases/worker_command.h"

#include <cstdlib>

#include "launch/local_launcher.h"

namespace pounce::daemon {
namespace {

// The handshake endpoint's address for other hosts.
std::string tcp_handshake(const protocol::EndpointFile& endpoint) {
  for (const std::string& handshake : endpoint.handshake)
    if (handshake.starts_with("tcp://")) return handshake;
  return {};
}

// Rounded up: the supervisor counts whole seconds, and a shortened time must not become "never" or "at once".
std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
}

std::vector<std::string> command_line(const WorkerPlan& plan, const LeaseId& lease, const Resources& resources,
                                      const std::vector<std::string>& interpreter) {
  std::vector<std::string> argv = {plan.program,   "serve",
                                   "--lease",      lease.hex(),
                                   "--workers",    std::to_string(resources.workers),
                                   "--handshake",  tcp_handshake(plan.endpoint),
                                   "--daemon-key", plan.endpoint.key,
                                   "--proof",      plan.endpoint.proof};
  const auto add = [&](const char* option, const std::string& value) { argv.insert(argv.end(), {option, value}); };
  if (resources.nodes > 1) add("--nodes", std::to_string(resources.nodes));
  if (!plan.endpoint.munge_socket.empty()) add("--munge-socket", plan.endpoint.munge_socket);
  if (!plan.endpoint.key_file.empty()) add("--key-file", plan.endpoint.key_file);
  if (plan.folders.shared) add("--endpoint-file", plan.folders.endpoint());  // else the worker's host cannot see it
  add("--heartbeat-ms", std::to_string(plan.times.heartbeat.count()));
  add("--watchdog-idle-s", seconds(plan.times.watchdog_idle));
  add("--watchdog-busy-s", seconds(plan.times.watchdog_busy));
  add("--leave-s", seconds(plan.times.leave));
  if (plan.stand_in && resources.gpus > 0) add("--stand-in", launch::kStandIn);
  if (!plan.interface.empty()) add("--interface", plan.interface);
  if (!plan.ports.empty()) add("--ports", plan.ports);
  argv.push_back("--");
  argv.insert(argv.end(), interpreter.begin(), interpreter.end());
  return argv;
}

// A batch system's own variables belong to the job that they were set for, ours to the programs that set them.
bool belongs_to_a_job(const std::string& name) {
  for (const char* start : {"SLURM_", "SLURMD_", "SPANK_", "SBATCH_", "SRUN_", "PMI_", "PMIX_", "POUNCE_"})
    if (name.starts_with(start)) return true;
  return false;
}

std::map<std::string, std::string> worker_environment(const std::map<std::string, std::string>& from_session) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : from_session)
    if (!belongs_to_a_job(name) && name.find('=') == std::string::npos) environment[name] = value;
  for (const char* name : {"HOME", "USER", "LOGNAME"})
    if (const char* value = std::getenv(name)) environment.emplace(name, value);
  environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  return environment;
}

}  // namespace

JobSpec job_spec(const WorkerPlan& plan, const InstanceId& instance, const LeaseId& lease, const Resources& resources,
                 const protocol::OpenSession& session) {
  JobSpec spec;
  spec.instance = instance;
  spec.lease = lease;
  spec.resources = resources;
  spec.name = resources.class_name.empty() ? "pounce" : "pounce-" + resources.class_name;
  spec.command = command_line(plan, lease, resources, session.interpreter);
  spec.environment = worker_environment(session.environment);
  spec.directory = session.directory;
  spec.log_path = plan.folders.lease_log(lease);
  return spec;
}

}  // namespace pounce::daemon
