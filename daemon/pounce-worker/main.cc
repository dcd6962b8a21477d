// pounce-worker: the supervisor of one worker, or the worker group that starts one supervisor for each worker of a
// lease. The batch system starts it as the job's first process; it is never started by hand.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/log.h"
#include "base/network.h"
#include "base/process.h"
#include "model/job.h"
#include "pounce/resources.h"
#include "pounce/version.h"
#include "transport/zmq_context.h"
#include "worker/supervisor/leased_gpus.h"
#include "worker/supervisor/supervisor.h"
#include "worker/supervisor/worker_group.h"

extern char** environ;

namespace {

using pounce::worker::SupervisorOptions;
using pounce::worker::WorkerGroup;

// A restarted step begins its epochs above all epochs that the previous step, with its own restarts, may have used.
constexpr std::uint32_t kLivesOfAStep = 64;

struct RawOptions {
  std::string lease, key, proof = "munge";
  std::uint32_t first_epoch = 0;
  std::uint32_t heartbeat_ms = 5000, watchdog_idle_s = 150, watchdog_busy_s = 900, leave_s = 60;
};

void describe(CLI::App& serve, SupervisorOptions& options, RawOptions& raw) {
  serve.add_option("--lease", raw.lease, "lease id, 16 hex digits")->required();
  serve.add_option("--workers", options.workers, "of this lease: one supervisor for each")
      ->check(CLI::Range(1u, pounce::kMostWorkers));
  serve.add_option("--nodes", options.nodes, "that they are on, as many on each")
      ->check(CLI::Range(1u, pounce::kMostNodes));
  serve.add_option("--node", options.node,
                   "which of them this is; 0: the job's first process, which starts the others");
  serve.add_option("--first-epoch", raw.first_epoch, "above those of the processes that were here before");
  serve.add_option("--handshake", options.handshake, "pounced's handshake endpoint, tcp://host:port")->required();
  serve.add_option("--daemon-key", raw.key, "pounced's public key, Z85")->required();
  serve.add_option("--proof", raw.proof, "munge or key_file")->check(CLI::IsMember({"munge", "key_file"}));
  serve.add_option("--munge-socket", options.munge_socket, "munged's socket; its default where not given");
  serve.add_option("--key-file", options.key_file, "the instance's key file");
  serve.add_option("--endpoint-file", options.endpoint_file,
                   "where pounced, or the one after it, is found again; none: nowhere else");
  serve.add_option("--heartbeat-ms", raw.heartbeat_ms)->check(CLI::Range(10u, 600000u));
  serve.add_option("--watchdog-idle-s", raw.watchdog_idle_s, "ends the job when nobody is heard and nothing runs");
  serve.add_option("--watchdog-busy-s", raw.watchdog_busy_s, "the same while something runs");
  serve.add_option("--leave-s", raw.leave_s, "from the order to end, for an interpreter that saves its variables");
  serve.add_option("--interface", options.interface,
                   "where interpreters listen; the one that faces the handshake endpoint if not given");
  serve.add_option("--ports", options.ports, "of which they take one, such as 50000-50999");
  serve.add_option("--stand-in", options.stand_in, "what stands in for a GPU, in words");
  serve.add_option("interpreter", options.interpreter, "after --: the interpreter and its options")->required();
}

SupervisorOptions checked(SupervisorOptions options, const RawOptions& raw) {
  const auto lease = pounce::LeaseId::from_hex(raw.lease);
  const auto key = pounce::transport::from_z85(raw.key);
  if (!lease) throw CLI::ValidationError("--lease", "not 16 hex digits");
  if (!key) throw CLI::ValidationError("--daemon-key", "not a Z85 key");
  if (options.workers % options.nodes != 0 || options.node >= options.nodes)
    throw CLI::ValidationError("--nodes", "not as many workers on each");
  options.lease = *lease;
  options.first_epoch = pounce::Epoch{raw.first_epoch};
  options.daemon_key = *key;
  options.proof = raw.proof == "munge" ? pounce::protocol::Proof::kMunge : pounce::protocol::Proof::kKeyFile;
  options.heartbeat = std::chrono::milliseconds(raw.heartbeat_ms);
  options.watchdog_idle = std::chrono::seconds(raw.watchdog_idle_s);
  options.watchdog_busy = std::chrono::seconds(raw.watchdog_busy_s);
  options.leave = std::chrono::seconds(raw.leave_s);
  return options;
}

void write_no_core(rlimit& usual) {
  ::getrlimit(RLIMIT_CORE, &usual);
  const rlimit none{0, usual.rlim_max};
  ::setrlimit(RLIMIT_CORE, &none);
}

// On the job's first node, first the first worker of each further node: it stands for that node's step, which Slurm
// takes a while to start. Then the workers of this node.
std::vector<pounce::WorkerIndex> members(const SupervisorOptions& options, std::uint32_t each) {
  std::vector<pounce::WorkerIndex> workers;
  if (options.node == 0)
    for (std::uint32_t node = 1; node < options.nodes; ++node) workers.push_back({node * each});
  for (std::uint32_t i = 0; i < each; ++i) workers.push_back({options.node * each + i});
  return workers;
}

int serve(SupervisorOptions options, const std::vector<std::string>& argv) {
  pounce::start_log("pounce-worker", "");
  rlimit core_limit{};
  write_no_core(core_limit);
  const auto environment = pounce::environment_of(environ);
  if (const auto given = pounce::worker::within_slurms(environment, options.node == 0); !given)
    options.unfit = given.error();
  const std::uint32_t each = options.workers / options.nodes;
  const auto serve_as = [&](pounce::WorkerIndex worker, pounce::Epoch first) {
    SupervisorOptions own = options;
    own.worker = worker;
    own.first_epoch = first;
    const pounce::WorkerIndex here{worker.value % each};
    pounce::worker::take_cpu_partition(environment, here, each);
    pounce::worker::Supervisor supervisor(std::move(own), pounce::worker::device_partition(environment, here, each),
                                          pounce::host_name(), core_limit);
    return supervisor.run();
  };
  if (options.workers == 1) return serve_as({}, {}), 0;

  const pounce::job::JobNodes nodes = pounce::job::job_nodes(environment);
  const auto start = [&](pounce::WorkerIndex worker, pounce::Epoch later) {
    const std::uint32_t node = worker.value / each;
    if (node != options.node)
      return pounce::start_process(
          pounce::worker::node_step(argv, nodes, node, {later.value * kLivesOfAStep}, environment));
    // A function, not a program: it reuses the options and the environment that this process has read. SIGTERM ends
    // it in order if this process is killed. Signals stay blocked, so one that arrives before the supervisor listens
    // is kept.
    const pounce::Epoch first{options.first_epoch.value + later.value};
    return pounce::start_function(pounce::Standing::kOurs, SIGTERM,
                                  [&] { return static_cast<int>(serve_as(worker, first)); });
  };
  WorkerGroup group(members(options, each), start, WorkerGroup::kLeaveTogether + options.leave);
  const int end = group.run();
  if (const auto& given_up = group.given_up(); given_up && given_up->member.value / each != options.node)
    return static_cast<int>(given_up->never_ran ? pounce::JobExit::kNoSrun : pounce::JobExit::kSrunFailed);
  const bool left_idle = end == static_cast<int>(pounce::worker::SupervisorEnd::kLeftIdle);
  return left_idle && options.node == 0 ? 0 : end;  // for Slurm the job has succeeded
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("pounce-worker supervises the interpreter of one pounce job. pounced starts it through Slurm.");
  app.set_version_flag("--version", pounce::kVersion);
  app.require_subcommand(1);
  SupervisorOptions options;
  RawOptions raw;
  describe(*app.add_subcommand("serve", "serve one lease until it ends"), options, raw);
  try {
    app.parse(argc, argv);
    options = checked(std::move(options), raw);
    return serve(options, {argv, argv + argc});
  } catch (const CLI::Error& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pounce-worker: %s\n", error.what());
    return 1;
  }
}
