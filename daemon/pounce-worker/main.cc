// pounce-worker: the supervisor; where a lease has several workers, the worker group that starts one for each. Started by
// the batch system as the job's first process, never by hand.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/log.h"
#include "pounce/resources.h"
#include "pounce/version.h"
#include "transport/zmq_context.h"
#include "worker/supervisor/device_partition.h"
#include "worker/supervisor/supervisor.h"
#include "worker/supervisor/worker_group.h"

extern char** environ;

namespace {

using pounce::worker::SupervisorOptions;
using pounce::worker::WorkerGroup;

struct RawOptions {
  std::string lease, key, proof = "munge";
  std::uint32_t heartbeat_ms = 5000, watchdog_idle_s = 150, watchdog_busy_s = 900, leave_s = 60;
};

void describe(CLI::App& serve, SupervisorOptions& options, RawOptions& raw) {
  serve.add_option("--lease", raw.lease, "lease id, 16 hex digits")->required();
  serve.add_option("--workers", options.workers, "of this lease: one supervisor for each")->check(CLI::Range(1u, pounce::kMostWorkers));
  serve.add_option("--handshake", options.handshake, "pounced's handshake endpoint, tcp://host:port")->required();
  serve.add_option("--daemon-key", raw.key, "pounced's public key, Z85")->required();
  serve.add_option("--proof", raw.proof, "munge or key_file")->check(CLI::IsMember({"munge", "key_file"}));
  serve.add_option("--munge-socket", options.munge_socket, "munged's socket; its default where not given");
  serve.add_option("--key-file", options.key_file, "the instance's key file");
  serve.add_option("--endpoint-file", options.endpoint_file, "where pounced, or the one after it, is found again; none: nowhere else");
  serve.add_option("--heartbeat-ms", raw.heartbeat_ms)->check(CLI::Range(10u, 600000u));
  serve.add_option("--watchdog-idle-s", raw.watchdog_idle_s, "ends the job when nobody is heard and nothing runs");
  serve.add_option("--watchdog-busy-s", raw.watchdog_busy_s, "the same while something runs");
  serve.add_option("--leave-s", raw.leave_s, "from the order to end, for an interpreter that saves its variables");
  serve.add_option("--interface", options.interface, "where interpreters listen; the one that faces the handshake endpoint if not given");
  serve.add_option("--ports", options.ports, "of which they take one, such as 50000-50999");
  serve.add_option("--stand-in", options.stand_in, "what stands in for a GPU, in words");
  serve.add_option("interpreter", options.interpreter, "after --: the interpreter and its options")->required();
}

SupervisorOptions checked(SupervisorOptions options, const RawOptions& raw) {
  const auto lease = pounce::LeaseId::from_hex(raw.lease);
  const auto key = pounce::transport::from_z85(raw.key);
  if (!lease) throw CLI::ValidationError("--lease", "not 16 hex digits");
  if (!key) throw CLI::ValidationError("--daemon-key", "not a Z85 key");
  options.lease = *lease;
  options.daemon_key = *key;
  options.proof = raw.proof == "munge" ? pounce::protocol::Proof::kMunge : pounce::protocol::Proof::kKeyFile;
  options.heartbeat = std::chrono::milliseconds(raw.heartbeat_ms);
  options.watchdog_idle = std::chrono::seconds(raw.watchdog_idle_s);
  options.watchdog_busy = std::chrono::seconds(raw.watchdog_busy_s);
  options.leave = std::chrono::seconds(raw.leave_s);
  return options;
}

int serve(const SupervisorOptions& options) {
  pounce::start_log("pounce-worker", "");
  rlimit core_limit{};
  ::getrlimit(RLIMIT_CORE, &core_limit);
  const rlimit none{0, core_limit.rlim_max};
  ::setrlimit(RLIMIT_CORE, &none);
  char host_name[256] = "";
  ::gethostname(host_name, sizeof(host_name) - 1);
  const auto environment = pounce::environment_of(environ);
  const auto serve_as = [&](pounce::WorkerIndex worker, pounce::Epoch first) {
    SupervisorOptions own = options;
    own.worker = worker;
    own.first_epoch = first;
    pounce::worker::take_cpu_partition(environment, worker, options.workers);
    pounce::worker::Supervisor supervisor(
        std::move(own), pounce::worker::device_partition(environment, worker, options.workers), host_name, core_limit);
    return supervisor.run();
  };
  if (options.workers > 1) return WorkerGroup(options.workers, serve_as, WorkerGroup::kLeaveTogether + options.leave).run();
  serve_as({}, {});
  return 0;
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
    return serve(std::move(options));
  } catch (const CLI::Error& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pounce-worker: %s\n", error.what());
    return 1;
  }
}
