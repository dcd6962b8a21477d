// The questions from pounced and pouncectl to pounce-slurm, each a struct with the type of its answer. To add one:
// its struct here and in the list at the end; its `answer()` in a file of daemon/pounce-slurm, where main.cc finds
// it; and a caller, Launcher::ask in pounced or ask_slurm in pouncectl. Values. Thread: any.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/accounting.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/qos.h"
#include "model/queue_snapshot.h"
#include "pounce/error.h"
#include "pounce/fields.h"

namespace pounce::slurm {

struct Done {  // the answer of a mutation that returns nothing else
  static constexpr auto fields() { return table(); }
};

// kMutation: the question changes something, so without an answer its outcome is unknown. kAdmin: only `pounce-slurm
// --admin` answers it, and answers nothing else.
struct AskVersion {  // the loaded libslurm: "libslurm.so.38 (22.05.8)"
  using Answer = std::string;
  static constexpr char kName[] = "version";
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskVersion&);
};
struct AskFacts {
  using Answer = ClusterFacts;
  static constexpr char kName[] = "facts";
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskFacts&);
};
struct Submit {
  using Answer = JobIdentity;
  static constexpr char kName[] = "submit";
  static constexpr bool kMutation = true;
  JobSpec spec;
  static constexpr auto fields() { return table(field("spec", &Submit::spec)); }
  friend Result<Answer> answer(const Submit&);
};
struct Cancel {  // a job that is gone already counts as cancelled
  using Answer = Done;
  static constexpr char kName[] = "cancel";
  static constexpr bool kMutation = true;
  JobIdentity job;
  static constexpr auto fields() { return table(field("job", &Cancel::job)); }
  friend Result<Answer> answer(const Cancel&);
};
struct Note {
  using Answer = Done;
  static constexpr char kName[] = "note";
  static constexpr bool kMutation = true;
  JobIdentity job;
  std::string comment;  // replaces the job's comment
  static constexpr auto fields() { return table(field("job", &Note::job), field("comment", &Note::comment)); }
  friend Result<Answer> answer(const Note&);
};
struct Poll {  // a view for each job; those that slurmctld has forgotten come last
  using Answer = std::vector<JobView>;
  static constexpr char kName[] = "poll";
  std::vector<JobIdentity> jobs;
  // Jobs without a message from a worker: if cancelled, such a job may never have started.
  std::vector<SlurmJobId> unheard{};
  static constexpr auto fields() { return table(field("jobs", &Poll::jobs), field("unheard", &Poll::unheard)); }
  friend Result<Answer> answer(const Poll&);
};
struct Reconcile {  // all jobs that slurmctld still shows with this instance's tag, including ended ones
  using Answer = std::vector<JobView>;
  static constexpr char kName[] = "reconcile";
  InstanceId instance;
  std::vector<SlurmJobId> unheard{};  // as in Poll
  static constexpr auto fields() {
    return table(field("instance", &Reconcile::instance), field("unheard", &Reconcile::unheard));
  }
  friend Result<Answer> answer(const Reconcile&);
};
struct AskQueue {  // this user's jobs in squeue that carry a tag of any instance
  using Answer = std::vector<JobView>;
  static constexpr char kName[] = "queue";
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskQueue&);
};
struct AskClasses {
  using Answer = ClassReport;
  static constexpr char kName[] = "classes";
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskClasses&);
};
struct AskClusterSnapshot {
  using Answer = ClusterSnapshot;
  static constexpr char kName[] = "cluster_snapshot";
  std::string not_nodes;  // "g[1-3]", to be expanded to names
  static constexpr auto fields() { return table(field("not_nodes", &AskClusterSnapshot::not_nodes)); }
  friend Result<Answer> answer(const AskClusterSnapshot&);
};
struct AskQueueSnapshot {  // the jobs that wait for room, and what these jobs hold
  using Answer = QueueSnapshot;
  static constexpr char kName[] = "waiting";
  std::vector<JobIdentity> jobs;
  static constexpr auto fields() { return table(field("jobs", &AskQueueSnapshot::jobs)); }
  friend Result<Answer> answer(const AskQueueSnapshot&);
};
struct ReadQos {
  using Answer = QosFacts;
  static constexpr char kName[] = "read_qos";
  static constexpr bool kAdmin = true;
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const ReadQos&);
};
struct WriteQos {  // creates missing ones, changes existing ones; answers the state afterwards
  using Answer = QosFacts;
  static constexpr char kName[] = "write_qos";
  static constexpr bool kAdmin = true, kMutation = true;
  std::vector<Qos> qos;
  static constexpr auto fields() { return table(field("qos", &WriteQos::qos)); }
  friend Result<Answer> answer(const WriteQos&);
};
struct AskAllocations {  // all users' jobs that wait or run
  using Answer = Allocations;
  static constexpr char kName[] = "allocations";
  static constexpr bool kAdmin = true;
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskAllocations&);
};
struct AskAccounting {  // what the site's accounting records, and what of it this caller sees
  using Answer = AccountingFacts;
  static constexpr char kName[] = "accounting";
  static constexpr bool kAdmin = true;
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskAccounting&);
};
struct AskJobs {  // the jobs that waited, ran or ended in a span of time, from slurmdbd; pages of some thousands
  using Answer = AccountedPage;
  static constexpr char kName[] = "jobs";
  static constexpr bool kAdmin = true;
  std::int64_t from_s = 0, to_s = 0;  // unix
  std::uint64_t after = 0;            // `last` of the page before
  bool steps = false;  // with what was measured of their steps, which costs slurmdbd a query for each job
  static constexpr auto fields() {
    return table(field("from_s", &AskJobs::from_s), field("to_s", &AskJobs::to_s), field("after", &AskJobs::after),
                 field("steps", &AskJobs::steps));
  }
  friend Result<Answer> answer(const AskJobs&);
};
struct AskNodeEvents {  // when nodes took no work, from slurmdbd
  using Answer = std::vector<NodeEvent>;
  static constexpr char kName[] = "node_events";
  static constexpr bool kAdmin = true;
  std::int64_t from_s = 0, to_s = 0;  // unix
  static constexpr auto fields() {
    return table(field("from_s", &AskNodeEvents::from_s), field("to_s", &AskNodeEvents::to_s));
  }
  friend Result<Answer> answer(const AskNodeEvents&);
};

using Question =
    std::variant<AskVersion, AskFacts, Submit, Cancel, Note, Poll, Reconcile, AskQueue, AskClasses, AskClusterSnapshot,
                 AskQueueSnapshot, ReadQos, WriteQos, AskAllocations, AskAccounting, AskJobs, AskNodeEvents>;

// Wraps the reply to one type of question as a reply that takes any answer.
template <class QuestionType>
std::function<void(Result<std::any>)> any_for(std::function<void(Result<typename QuestionType::Answer>)> reply) {
  return [reply = std::move(reply)](Result<std::any> answer) {
    reply(std::move(answer).map(
        [](std::any&& value) { return std::any_cast<typename QuestionType::Answer>(std::move(value)); }));
  };
}

template <class QuestionType>
inline constexpr bool kIsMutation = requires { requires QuestionType::kMutation; };
template <class QuestionType>
inline constexpr bool kIsAdmins = requires { requires QuestionType::kAdmin; };

inline bool is_mutation(const Question& question) {
  return std::visit([]<class QuestionType>(const QuestionType&) { return kIsMutation<QuestionType>; }, question);
}
inline bool is_admins(const Question& question) {
  return std::visit([]<class QuestionType>(const QuestionType&) { return kIsAdmins<QuestionType>; }, question);
}

}  // namespace pounce::slurm
