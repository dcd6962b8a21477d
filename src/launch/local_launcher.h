// The local backend: workers are child processes of pounced, for machines without Slurm. Jobs have the same tags,
// states and endings as batch jobs, so that all code above is the same. A job's number is its pid. Every class name
// is accepted. A walltime is kept, GPUs are handed out by number, and memory and CPUs are only noted. Where rooms are
// counted, as within a Slurm job, a job that does not fit waits until another has ended, in the order of arrival. A
// worker on another node of the Slurm job is a step there, and its srun is the child. Jobs outlive the daemon. A
// later daemon finds them by their records, but cannot learn how those ended (JobEnd::kGone). Answers come from
// within the call. Thread: loop.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "launch/launcher.h"
#include "launch/local_job.h"
#include "launch/local_nodes.h"

namespace pounce::launch {

struct LocalOptions {
  std::string folder;                          // where job records are kept: 0700, ours
  std::uint32_t stand_in_gpus = 0;             // so many GPUs are granted as "CPU standing in"
  std::chrono::milliseconds kill_wait{30000};  // from TERM to KILL, as Slurm's KillWait
  LocalRooms rooms{};                          // empty: nothing is counted, and no job waits. The first is this machine
  std::string slurm_job{};                     // the job of the other nodes, where srun starts workers
};

inline constexpr char kStandIn[] = "CPU standing in";

class LocalLauncher final : public Launcher {
 public:
  explicit LocalLauncher(LocalOptions options);

  void send(slurm::Question question, Reply<std::any> reply) override;
  void leave_out(const LeaseId& lease, const std::string& gpu) override;

  // The next walltime, kill or look for room. TimePoint::max(): none.
  TimePoint next_deadline() const;
  void on_time(TimePoint now);

 private:
  Result<ClusterFacts> answer(const slurm::AskFacts&) const;
  Result<JobIdentity> answer(const slurm::Submit& submit) { return start(submit.spec); }
  Result<slurm::Done> answer(const slurm::Cancel& cancel);
  Result<slurm::Done> answer(const slurm::Note&) const { return slurm::Done{}; }  // there is no accounting to keep it
  Result<std::vector<JobView>> answer(const slurm::Poll& poll);
  Result<std::vector<JobView>> answer(const slurm::Reconcile& reconcile);
  Result<std::vector<JobView>> answer(const slurm::AskQueue&);
  // Every other question has an empty answer: there is no queue, and there are no classes or nodes to choose from.
  template <class Query>
    requires(!slurm::kIsMutation<Query> || slurm::kIsAdmins<Query>)
  Result<typename Query::Answer> answer(const Query&) const {
    return typename Query::Answer{};
  }

  Result<JobIdentity> start(const JobSpec& spec);
  Result<LocalJob> launched(const JobSpec& spec, LocalPlaces places, const std::string& devices);
  Result<JobIdentity> in_room(const JobSpec& spec);
  RoomUse used() const;
  void start_waiting();
  bool start_first_waiting();  // false: it must still wait
  void count_accident(const LocalJob& job);
  Result<std::string> give_gpus(const Resources& resources, std::vector<std::uint32_t>& given) const;
  void end(LocalJob& job, JobEnd why, TimePoint now);
  void refresh(LocalJob& job);
  void forget_old();

  LocalOptions options_;
  std::map<JobIdentity, LocalJob> jobs_;  // this folder's, ended ones included
  std::map<JobIdentity, TimePoint> walltimes_;
  std::vector<std::pair<JobIdentity, JobSpec>> waiting_;  // jobs that wait for room, in the order of arrival
  std::vector<std::uint32_t> failed_gpus_;                // used where no rooms are counted
  TimePoint looked_at_{};
  std::uint32_t next_number_ = 1u << 30;  // number of the next job that waits; no process has such a number
};

}  // namespace pounce::launch
