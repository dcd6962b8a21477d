// The local backend: workers are child processes of pounced, for machines without Slurm. Same tags, same states, same
// endings as a batch job, so that everything above it is the same code. A job's number is its pid. Every class name is
// accepted; a walltime is kept, GPUs are handed out by number, memory and CPUs are only noted. Where rooms are counted, as in a
// job of Slurm's, what does not fit waits until something has ended, in the order of arrival; what lies on another node of that
// job is a step there, and its srun the child. Jobs outlive the daemon;
// a later one finds them by their records, but cannot learn how those ended (JobEnd::kGone). Answers come from within
// the call. Thread: loop.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "launch/launcher.h"
#include "launch/local_job.h"
#include "launch/local_room.h"

namespace pounce::launch {

struct LocalOptions {
  std::string folder;                          // where job records are kept: 0700, ours
  std::uint32_t stand_in_gpus = 0;             // so many GPUs are granted as "CPU standing in"
  std::chrono::milliseconds kill_wait{30000};  // from TERM to KILL, as Slurm's KillWait
  LocalRooms rooms{};                          // none: nothing is counted, and nobody waits. The first is this machine
  std::string slurm_job{};                     // whose nodes the others are: srun starts what runs there
};

inline constexpr char kStandIn[] = "CPU standing in";

class LocalLauncher final : public Launcher {
 public:
  explicit LocalLauncher(LocalOptions options);

  void send(slurm::Question question, Reply<std::any> reply) override;
  void leave_out(const LeaseId& lease, const std::string& gpu) override;

  // Walltimes and what did not end when told. TimePoint::max(): none.
  TimePoint next_deadline() const;
  void on_time(TimePoint now);

 private:
  Result<ClusterFacts> answer(const slurm::AskFacts&) const;
  Result<JobIdentity> answer(const slurm::Submit& asked) { return start(asked.spec); }
  Result<slurm::Done> answer(const slurm::Cancel& asked);
  Result<slurm::Done> answer(const slurm::Note&) const { return slurm::Done{}; }  // there is no accounting to keep it
  Result<std::vector<JobView>> answer(const slurm::Poll& asked);
  Result<std::vector<JobView>> answer(const slurm::Reconcile& asked);
  Result<std::vector<JobView>> answer(const slurm::AskQueue&);
  // Of all else there is nothing here: nobody queues, there are no classes and no nodes to choose from.
  template <class Asked>
    requires(!slurm::kIsDeed<Asked> || slurm::kIsAdmins<Asked>)
  Result<typename Asked::Answer> answer(const Asked&) const {
    return typename Asked::Answer{};
  }

  Result<JobIdentity> start(const JobSpec& spec);
  Result<LocalJob> launched(const JobSpec& spec, LocalPlaces places, const std::string& devices);
  Result<JobIdentity> in_room(const JobSpec& spec);
  RoomUse used() const;
  void start_waiting();
  bool start_first_waiting();  // false: it goes on waiting
  void count_accident(const LocalJob& job);
  Result<std::string> give_gpus(const Resources& asked, std::vector<std::uint32_t>& given) const;
  void end(LocalJob& job, JobEnd why, TimePoint now);
  void refresh(LocalJob& job);
  void forget_old();

  LocalOptions options_;
  std::map<JobIdentity, LocalJob> jobs_;  // this folder's, ended ones too
  std::map<JobIdentity, TimePoint> walltimes_;
  std::vector<std::pair<JobIdentity, JobSpec>> waiting_;  // for room, in the order of arrival
  std::vector<std::uint32_t> failed_gpus_;                // where no rooms are counted
  TimePoint looked_at_{};
  std::uint32_t next_number_ = 1u << 30;                  // of one that waits: no process has such a number
};

}  // namespace pounce::launch
