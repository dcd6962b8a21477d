// The batch system of a life: it answers when it is told to, rightly, not at all or with an error, and its jobs start,
// end, are requeued and forgotten by the script. It says what no daemon may do to it. Thread: the test's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon_fuzzer/planted_bug.h"
#include "launch/launcher.h"

namespace pounce::daemon_fuzzer {

enum class Health : std::uint8_t { kWell, kSlow, kUnreachable, kLosesAnswers, kLosesQuestions };

class FakeLauncher : public launch::Launcher {
 public:
  struct Job {
    JobView view;
    JobSpec spec;
  };

  // on_submit: at the moment at which a job is asked for. complain: of what no daemon may do.
  FakeLauncher(InstanceId ours, PlantedBug planted, std::function<void(const JobSpec&)> on_submit,
               std::function<void(std::string)> complain);

  void send(slurm::Question question, Reply<std::any> reply) override;

  void answer();  // whatever was asked, while it is not slow
  void drop();    // who asked is gone
  void health(Health health) { health_ = health; }

  std::map<SlurmJobId, Job>& jobs() { return jobs_; }
  std::vector<SlurmJobId> living() const;  // of ours
  void start(Job& job);
  void end(Job& job, JobEnd how);
  void requeue(Job& job);
  void forget_ended();

 private:
  struct Asked {
    slurm::Question question;
    Reply<std::any> reply;
  };
  Result<std::any> answer_to(const slurm::Question& question);
  JobIdentity submit(const JobSpec& spec);
  void cancel(const JobIdentity& job);
  void add_foreign_job();
  JobView view_of(const JobIdentity& job) const;
  std::vector<JobView> views(const std::function<bool(const Job&)>& of) const;

  const InstanceId ours_;
  const PlantedBug planted_;
  const std::function<void(const JobSpec&)> on_submit_;
  const std::function<void(std::string)> complain_;
  Health health_ = Health::kWell;
  std::deque<Asked> asked_;
  std::map<SlurmJobId, Job> jobs_;
  std::set<LeaseId> submitted_;
  std::uint32_t last_job_ = 100;
  std::int64_t last_time_s_ = 1'700'000'000;
};

}  // namespace pounce::daemon_fuzzer
