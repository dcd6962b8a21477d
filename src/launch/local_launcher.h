// The local backend: workers are child processes of pounced, for machines without Slurm. Same tags, same states, same
// endings as a batch job, so that everything above it is the same code. A job's number is its pid; its tag is kept
// in a small file, so that a restarted daemon finds jobs that are no longer its children. Thread: loop.
#pragma once

#include <map>
#include <string>

#include "launch/launcher.h"

namespace pounce::launch {

struct LocalOptions {
  std::string folder;             // where job records are kept: 0700, ours
  std::uint32_t stand_in_gpus = 0;  // so many GPUs are granted as "CPU standing in"
};

inline constexpr char kStandIn[] = "CPU standing in";

class LocalLauncher final : public Launcher {
 public:
  explicit LocalLauncher(LocalOptions options);

  void facts(Reply<ClusterFacts> reply) override;
  void submit(const JobSpec& spec, Reply<Incarnation> reply) override;
  void cancel(const Incarnation& job, Reply<void> reply) override;
  void poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) override;
  void sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) override;
  void queue(Reply<std::vector<JobView>> reply) override;

 private:
  Result<Incarnation> start(const JobSpec& spec);
  void refresh(JobView& job);
  void keep_record(const JobView& job);
  void read_records();
  std::string record_path(const JobView& job) const;

  LocalOptions options_;
  std::map<Incarnation, JobView> jobs_;  // this folder's, ended ones too
};

}  // namespace pounce::launch
