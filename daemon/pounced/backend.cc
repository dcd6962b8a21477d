#include "pounced/backend.h"

#include <utility>

#include "launch/local_launcher.h"
#include "launch/slurm_launcher.h"
#include "pounced/ask_gateway.h"
#include "slurm/slurm_gateway.h"

namespace pounce::daemon {
namespace {

// What the helper learns of the queue outlives it, and this daemon.
slurm::GatewayOptions options_of(const Setup& setup) {
  slurm::GatewayOptions options = gateway_options(setup.config);
  options.environment["POUNCE_RUNS"] = setup.folders.runs();
  return options;
}

// A SlurmLauncher whose gateway the loop serves.
class SlurmBackend final : public launch::Launcher {
 public:
  SlurmBackend(transport::EventLoop& loop, const Setup& setup)
      : loop_(loop), gateway_(options_of(setup)), launcher_(gateway_) {}
  ~SlurmBackend() override { forget(); }

  void facts(Reply<ClusterFacts> reply) override { launcher_.facts(std::move(reply)), follow(); }
  void submit(const JobSpec& spec, Reply<Incarnation> reply) override {
    launcher_.submit(spec, std::move(reply)), follow();
  }
  void cancel(const Incarnation& job, Reply<void> reply) override { launcher_.cancel(job, std::move(reply)), follow(); }
  void note(const Incarnation& job, const std::string& comment, Reply<void> reply) override {
    launcher_.note(job, comment, std::move(reply)), follow();
  }
  void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) override {
    launcher_.poll(jobs, std::move(reply)), follow();
  }
  void sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) override {
    launcher_.sweep(instance, std::move(reply)), follow();
  }
  void look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply) override {
    launcher_.look(ours, std::move(reply)), follow();
  }
  void classes(Reply<ClassReport> reply) override { launcher_.classes(std::move(reply)), follow(); }
  void survey(const std::string& not_nodes, Reply<Survey> reply) override {
    launcher_.survey(not_nodes, std::move(reply)), follow();
  }
  void queue(Reply<std::vector<JobView>> reply) override { launcher_.queue(std::move(reply)), follow(); }

 private:
  void forget() {
    loop_.unwatch(std::exchange(watch_, 0));
    loop_.unwatch(std::exchange(timer_, 0));
  }

  // A number is used again for the next helper: comparing descriptors would not tell, so the watch is always renewed.
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
  launch::SlurmLauncher launcher_;
  transport::EventLoop::WatchId watch_ = 0, timer_ = 0;
};

// A LocalLauncher whose walltimes the loop keeps.
class LocalBackend final : public launch::Launcher {
 public:
  LocalBackend(transport::EventLoop& loop, const Setup& setup)
      : loop_(loop), launcher_(launch::LocalOptions{setup.folders.leases(), setup.config.stand_in_gpus}) {
    follow();  // jobs of a predecessor have walltimes too
  }
  ~LocalBackend() override { loop_.unwatch(timer_); }

  void facts(Reply<ClusterFacts> reply) override { launcher_.facts(std::move(reply)); }
  void submit(const JobSpec& spec, Reply<Incarnation> reply) override {
    launcher_.submit(spec, std::move(reply)), follow();
  }
  void cancel(const Incarnation& job, Reply<void> reply) override { launcher_.cancel(job, std::move(reply)), follow(); }
  void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) override {
    launcher_.poll(jobs, std::move(reply));
  }
  void sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) override {
    launcher_.sweep(instance, std::move(reply));
  }
  void look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply) override { launcher_.look(ours, std::move(reply)); }
  void classes(Reply<ClassReport> reply) override { launcher_.classes(std::move(reply)); }
  void survey(const std::string& not_nodes, Reply<Survey> reply) override {
    launcher_.survey(not_nodes, std::move(reply));
  }
  void queue(Reply<std::vector<JobView>> reply) override { launcher_.queue(std::move(reply)); }

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
