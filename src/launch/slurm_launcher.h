// The slurm backend: every call goes through the gateway to pounce-slurm. Thread: loop.
#pragma once

#include "launch/launcher.h"
#include "slurm/slurm_gateway.h"

namespace pounce::launch {

class SlurmLauncher final : public Launcher {
 public:
  explicit SlurmLauncher(slurm::SlurmGateway& gateway) : gateway_(gateway) {}

  void facts(Reply<ClusterFacts> reply) override { gateway_.facts(std::move(reply)); }
  void submit(const JobSpec& spec, Reply<Incarnation> reply) override { gateway_.submit(spec, std::move(reply)); }
  void cancel(const Incarnation& job, Reply<void> reply) override { gateway_.cancel(job, std::move(reply)); }
  void note(const Incarnation& job, const std::string& comment, Reply<void> reply) override {
    gateway_.note(job, comment, std::move(reply));
  }
  void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) override {
    gateway_.poll(jobs, std::move(reply));
  }
  void sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) override {
    gateway_.sweep(instance, std::move(reply));
  }
  void look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply) override {
    gateway_.look(ours, std::move(reply));
  }
  void classes(Reply<ClassReport> reply) override { gateway_.classes(std::move(reply)); }
  void survey(const std::string& not_nodes, Reply<Survey> reply) override {
    gateway_.survey(not_nodes, std::move(reply));
  }
  void queue(Reply<std::vector<JobView>> reply) override { gateway_.queue(std::move(reply)); }

 private:
  slurm::SlurmGateway& gateway_;
};

}  // namespace pounce::launch
