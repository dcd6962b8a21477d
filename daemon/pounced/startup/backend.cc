#include "pounced/startup/backend.h"

#include <utility>

#include "launch/local_launcher.h"
#include "pounced/leases/site_policy.h"
#include "slurm/slurm_gateway.h"

namespace pounce::daemon {
namespace {

// POUNCE_RUNS: what the helper learns about run times outlives the helper and this daemon.
slurm::GatewayOptions options_of(const Setup& setup) {
  slurm::GatewayOptions options = gateway_options(setup.config);
  options.environment["POUNCE_RUNS"] = setup.folders.runs();
  return options;
}

// The gateway to pounce-slurm, served by the loop.
class SlurmBackend final : public launch::Launcher {
 public:
  SlurmBackend(transport::EventLoop& loop, const Setup& setup) : loop_(loop), gateway_(options_of(setup)) {}
  ~SlurmBackend() override { forget(); }

  void send(slurm::Question question, Reply<std::any> reply) override {
    gateway_.send(std::move(question), std::move(reply)), follow();
  }

 private:
  void forget() {
    loop_.unwatch(std::exchange(watch_, 0));
    loop_.unwatch(std::exchange(timer_, 0));
  }

  // The next helper may get the same descriptor number, so comparing numbers would not tell: the watch is always
  // renewed.
  void follow() {
    forget();
    if (const int fd = gateway_.fd(); fd >= 0)
      watch_ = loop_.watch_fd(fd, [this] {
        gateway_.on_readable();
        follow();
      });
    if (const TimePoint due = gateway_.next_deadline(); due != TimePoint::max())
      timer_ = loop_.at(due, [this] {
        timer_ = 0;
        gateway_.on_time(Clock::now());
        follow();
      });
  }

  transport::EventLoop& loop_;
  slurm::SlurmGateway gateway_;
  transport::EventLoop::WatchId watch_ = 0, timer_ = 0;
};

launch::LocalOptions options_for(const Setup& setup) {
  launch::LocalOptions options{setup.folders.leases(), setup.config.stand_in_gpus};
  if (setup.config.local_cpus == 0) return options;
  options.slurm_job = std::to_string(setup.scope.outer_job);
  options.rooms.push_back(
      launch::room_of(setup.config.local_cpus, setup.config.local_memory_mib, setup.config.local_gpus));
  options.rooms.front().relative = setup.config.local_relative;
  for (const ConfigNode& node : setup.config.local_nodes) {
    options.rooms.push_back(launch::room_of(node.cpus, node.memory_mib, node.gpus));
    options.rooms.back().node = node.name;
    options.rooms.back().relative = node.relative;
  }
  return options;
}

// A LocalLauncher whose walltimes the loop enforces.
class LocalBackend final : public launch::Launcher {
 public:
  LocalBackend(transport::EventLoop& loop, const Setup& setup) : loop_(loop), launcher_(options_for(setup)) {
    follow();  // jobs of a previous instance have walltimes too
  }
  ~LocalBackend() override { loop_.unwatch(timer_); }

  void send(slurm::Question question, Reply<std::any> reply) override {
    launcher_.send(std::move(question), std::move(reply)), follow();
  }
  void leave_out(const LeaseId& lease, const std::string& gpu) override { launcher_.leave_out(lease, gpu); }

 private:
  void follow() {
    loop_.unwatch(std::exchange(timer_, 0));
    if (const TimePoint due = launcher_.next_deadline(); due != TimePoint::max())
      timer_ = loop_.at(due, [this] {
        timer_ = 0;
        launcher_.on_time(Clock::now());
        follow();
      });
  }

  transport::EventLoop& loop_;
  launch::LocalLauncher launcher_;
  transport::EventLoop::WatchId timer_ = 0;
};

}  // namespace

std::unique_ptr<launch::Launcher> make_backend(transport::EventLoop& loop, const Setup& setup) {
  if (setup.launcher == LauncherKind::kSlurm) return std::make_unique<SlurmBackend>(loop, setup);
  return std::make_unique<LocalBackend>(loop, setup);
}

}  // namespace pounce::daemon
