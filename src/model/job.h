// A batch system's job as pounce sees it, from Slurm or the local launcher; why one waits, when it is expected to start
// and what that rests on; what its user could request instead. Values only. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "pounce/cause.h"
#include "pounce/fields.h"
#include "pounce/resources.h"

namespace pounce {

struct Eta {
  std::int64_t start_s = 0;            // unix; the median. 0: unknown
  std::int64_t low_s = 0, high_s = 0;  // 80 % interval
  // kQueue: a simulation of the `running` jobs and those `ahead` to their ends. kPlan: the start that Slurm plans.
  // Both use the real lengths of the `seen` jobs of the same kind.
  enum class From : std::uint8_t { kNothing, kQueue, kPlan };
  From from{};
  std::uint32_t running{}, ahead{}, seen{};
  std::string basis{};  // the sentence for these, set where it is shown (src/messages)
  bool known() const { return start_s != 0; }
  bool operator==(const Eta&) const = default;

  static constexpr auto fields() {
    return table(
        field("start_s", &Eta::start_s, "unix time; as likely earlier as later. 0: nothing can be said"),
        field("low_s", &Eta::low_s, "four times in five it lies between this"),
        field("high_s", &Eta::high_s, "and this"),
        field("basis", &Eta::basis, "what it rests on in words, put by who shows it").only_if_set(),
        field("from", &Eta::from,
              "what it rests on: `queue`, the jobs there played to their ends, or `plan`, the start that Slurm plans")
            .only_if_set(),
        field("running", &Eta::running, "jobs of that queue").only_if_set(),
        field("ahead", &Eta::ahead, "jobs of it that go first").only_if_set(),
        field("seen", &Eta::seen, "jobs of its kind whose real length is known").only_if_set());
  }
};

constexpr auto words(Eta::From) { return words_of<Eta::From>({"nothing", "queue", "plan"}, Eta::From::kNothing); }

// What a user who waits could ask for instead, as the cluster is now.
struct Choice {
  std::string kind;       // "wait", "gpu", "cpu", "class", "cancel"
  std::string option;     // for --or: "a100_3g.20gb", "cpu", "class=lion", "cancel"; empty for "wait"
  Resources resources;    // the resources it would request
  bool now = false;       // there is room for it now
  Eta eta{};              // if there is no room now
  Cause cause{};          // the limit that it would wait for, if any
  std::string against{};  // the sentence for `cause`, set where it is shown (src/messages)

  static constexpr auto fields() {
    return table(field("kind", &Choice::kind, "`wait`, `gpu`, `cpu`, `class`, `cancel`"),
                 field("option", &Choice::option, "as `--or` takes it; of waiting empty"),
                 field("resources", &Choice::resources, "what it asks for then"),
                 field("now", &Choice::now, "there is room for it now"),
                 field("eta", &Choice::eta, "where there is none"),
                 field("cause", &Choice::cause, "the limit that it would wait for").only_if_set(),
                 field("against", &Choice::against, "its sentence, put by who shows it").only_if_set());
  }
};

}  // namespace pounce

namespace pounce::model {

// What was said of when a lease starts, and when it did: a line of the state folder's waits.jsonl, which `pouncectl
// eta-score` reads.
struct StartStatement {
  std::string lease, class_name;
  std::int64_t stated_s = 0;
  Eta eta;
  std::int64_t started_s = 0;

  static constexpr auto fields() {
    return table(field("lease", &StartStatement::lease), field("class", &StartStatement::class_name),
                 field("stated_s", &StartStatement::stated_s), part(&StartStatement::eta),
                 field("started_s", &StartStatement::started_s));
  }
};

}  // namespace pounce::model

namespace pounce {

// Unknown is never dead: a lease stays as it is in a state that this build does not know.
enum class JobState : std::uint8_t { kUnknown, kQueued, kRunning, kEnding, kEnded };

enum class JobEnd : std::uint8_t {
  kNone,       // has not ended
  kCompleted,  // exit code 0
  kFailed,     // other exit code or signal
  kCancelled,  // scancel, by any user, including us
  kTimeout,
  kOutOfMemory,
  kPreempted,
  kNodeFail,
  kBootFail,
  kDeadline,
  kNotStarted,  // the batch system could not start it and cancelled it
  kGone         // no record is left in the batch system or in accounting
};

constexpr auto words(JobState) { return words_of<JobState>({"unknown", "queued", "running", "ending", "ended"}); }
constexpr auto words(JobEnd) {
  return words_of<JobEnd>({"none", "completed", "failed", "cancelled", "timeout", "out_of_memory", "preempted",
                           "node_fail", "boot_fail", "deadline", "not_started", "gone"});
}

// A limit that a queued job waits for, as far as the batch system tells the numbers.
struct LimitUse {
  std::string what;  // "job", "cpu", "mem" (MiB), "node", "time" (minutes), "gres/gpu:a100"; empty: nothing is known
  std::uint64_t most = 0, used = 0, asked = 0;  // used: by all jobs that count; asked: by this job
  bool operator==(const LimitUse&) const = default;

  static constexpr auto fields() {
    return table(field("what", &LimitUse::what,
                       "as Slurm calls it: `gres/gpu:a100`, `cpu`, `mem` (MiB), `node`, `time` (minutes); or `job`. "
                       "Empty: none, or its numbers are not known"),
                 field("most", &LimitUse::most), field("used", &LimitUse::used, "by all that it counts"),
                 field("asked", &LimitUse::asked, "by this job"));
  }
};

// Exit codes of pounce-worker, the job's first process, when srun fails to start workers on the job's further nodes.
// Slurm shows them as the job's exit code.
enum class JobExit : int {
  kNoSrun = 76,      // srun could not be run
  kSrunFailed = 77,  // srun failed repeatedly
};

struct JobView {
  JobIdentity job_identity;
  std::optional<InstanceId> instance;  // from the tag in its comment, when it carries one of ours
  std::optional<LeaseId> lease;
  std::string name, class_name;  // "pounce-lion", "lion"
  JobState state = JobState::kUnknown;
  JobEnd end = JobEnd::kNone;
  std::uint32_t raw_state = 0;     // the batch system's own number, for logs
  std::string state_name, reason;  // Slurm's: "PENDING", "Resources", or a longer sentence
  std::string reason_word;         // always the single word; empty: same as reason
  LimitUse limit;                  // the limit in the reason
  std::int32_t ahead = -1;         // queued jobs that go first; -1: not known
  Eta eta{};                       // for a queued job
  std::string nodes, devices;      // "g1", "gpu:a100:1(IDX:0)"
  Resources resources;             // as granted; class_name filled
  std::int64_t submit_time_s = 0, start_time_s = 0, end_time_s = 0;  // unix; a queued job's start is an estimate or 0
  std::int64_t preempt_time_s = 0;  // preempted since then, with end_time_s the end of its grace time; 0: not
  int exit_code = 0, signal = 0;

  static constexpr auto fields() {
    return table(field("job", &JobView::job_identity),
                 field("instance", &JobView::instance, "from the tag in its comment"),
                 field("lease", &JobView::lease, "likewise"), field("name", &JobView::name),
                 field("class", &JobView::class_name), field("state", &JobView::state), field("end", &JobView::end),
                 field("raw_state", &JobView::raw_state, "the batch system's own number"),
                 field("state_name", &JobView::state_name, "the batch system's own word"),
                 field("reason", &JobView::reason, "its own words"),
                 field("reason_word", &JobView::reason_word, "always the word; empty: as reason"),
                 field("limit", &JobView::limit, "that the reason is about").only_if_set(),
                 field("ahead", &JobView::ahead, "queued jobs that go first; -1: not known"),
                 field("eta", &JobView::eta, "of a queued one").only_if_set(), field("nodes", &JobView::nodes),
                 field("devices", &JobView::devices), field("resources", &JobView::resources, "as granted"),
                 field("submit_time_s", &JobView::submit_time_s),
                 field("start_time_s", &JobView::start_time_s, "of a queued job: estimate or 0"),
                 field("end_time_s", &JobView::end_time_s),
                 field("preempt_time_s", &JobView::preempt_time_s, "since when it is preempted; 0: it is not"),
                 field("exit_code", &JobView::exit_code), field("signal", &JobView::signal));
  }
};

// One submission. Nothing here is secret: batch systems store and show all of it.
struct JobSpec {
  InstanceId instance;
  LeaseId lease;
  Resources resources;                             // one GPU type
  std::string qos{}, partition{};                  // empty: the QoS named like the class; Slurm's default partition
  std::string prologue{};                          // shell lines before the command
  std::string name;                                // pounce-<class>
  std::vector<std::string> command;                // argv of pounce-worker
  std::map<std::string, std::string> environment;  // the complete environment
  std::string directory;                           // working directory, the notebook's
  std::string log_path;                            // stdout and stderr of the job

  static constexpr auto fields() {
    return table(field("instance", &JobSpec::instance), field("lease", &JobSpec::lease),
                 field("resources", &JobSpec::resources, "one GPU type"),
                 field("qos", &JobSpec::qos, "empty: the QoS of the class's name"),
                 field("partition", &JobSpec::partition, "empty: Slurm's default"),
                 field("prologue", &JobSpec::prologue, "shell lines before the command"), field("name", &JobSpec::name),
                 field("command", &JobSpec::command, "argv of pounce-worker"),
                 field("environment", &JobSpec::environment, "the whole of it"),
                 field("directory", &JobSpec::directory), field("log_path", &JobSpec::log_path));
  }
};

// The view of a job of which the batch system has no record any more.
inline JobView gone_job(const JobIdentity& job) {
  JobView view;
  view.job_identity = job;
  view.state = JobState::kEnded;
  view.end = JobEnd::kGone;
  view.state_name = "GONE";
  return view;
}

}  // namespace pounce

namespace pounce::model {

// What the batch system says of a job that waits, as every message and document tells it.
struct QueueWait {
  std::string slurm_reason;
  std::int32_t ahead = -1;
  std::int64_t start_estimate_s = 0;
  LimitUse limit;
  Eta eta{};
  bool operator==(const QueueWait&) const = default;

  static constexpr auto fields() {
    return table(
        field("slurm_reason", &QueueWait::slurm_reason, "Slurm's own words for the wait"),
        field("ahead", &QueueWait::ahead, "queued jobs that go first; -1: not known"),
        field("start_estimate_s", &QueueWait::start_estimate_s, "when Slurm expects it to start; 0: not known"),
        field("limit", &QueueWait::limit, "that it waits for").only_if_set(),
        field("eta", &QueueWait::eta, "when pounce expects it to start").only_if_set());
  }
};

// What the batch system gives a job where that is not what was requested: a site's rules (job_submit.lua) may change a
// job when it is submitted, and an admin may later. 0: as requested. GPUs, CPUs and memory are those of one worker.
struct Given {
  std::uint32_t gpus = 0, cpus = 0;
  std::uint64_t memory_mib = 0;
  std::chrono::minutes time{0};
  std::string words{};
  bool operator==(const Given&) const = default;

  bool differs() const { return gpus > 0 || cpus > 0 || memory_mib > 0 || time.count() > 0; }

  static constexpr auto fields() {
    return table(
        field("given_gpus", &Given::gpus, "of each worker, where they are not what was requested").only_if_set(),
        field("given_cpus", &Given::cpus, "likewise").only_if_set(),
        field("given_memory_mib", &Given::memory_mib, "likewise").only_if_set(),
        field("given_time_min", &Given::time, "its walltime, where it is not what was requested").only_if_set(),
        field("given", &Given::words, "all of these as a sentence, put by who shows it").only_if_set());
  }
};

}  // namespace pounce::model
