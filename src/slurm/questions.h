// What pounced and pouncectl ask of pounce-slurm, each a struct with its answer. To add a question: its struct here, in the
// list at the end; its `answer()` in a file of daemon/pounce-slurm, where main.cc finds it; and whoever asks it, by
// Launcher::ask in pounced, by ask_slurm in pouncectl. Values. Thread: any.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pounce/allocations.h"
#include "pounce/cluster.h"
#include "pounce/fields.h"
#include "pounce/job.h"
#include "pounce/qos.h"
#include "pounce/queue_snapshot.h"
#include "pounce/result.h"

namespace pounce::slurm {

struct Done {  // the answer of a deed that has nothing else to tell
  static constexpr auto fields() { return table(); }
};

// kDeed: it changes something, so that without an answer it is not known whether it was done.
// kAdmin: for `pounce-slurm --admin` only, and nothing else is.

struct AskVersion {  // of the libslurm loaded: "libslurm.so.38 (22.05.8)"
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
  static constexpr bool kDeed = true;
  JobSpec spec;
  static constexpr auto fields() { return table(field("spec", &Submit::spec)); }
  friend Result<Answer> answer(const Submit&);
};
struct Cancel {  // a job that is gone counts as cancelled
  using Answer = Done;
  static constexpr char kName[] = "cancel";
  static constexpr bool kDeed = true;
  JobIdentity job;
  static constexpr auto fields() { return table(field("job", &Cancel::job)); }
  friend Result<Answer> answer(const Cancel&);
};
struct Note {
  using Answer = Done;
  static constexpr char kName[] = "note";
  static constexpr bool kDeed = true;
  JobIdentity job;
  std::string comment;  // the job's from now on
  static constexpr auto fields() { return table(field("job", &Note::job), field("comment", &Note::comment)); }
  friend Result<Answer> answer(const Note&);
};
struct Poll {  // a view for each, those that slurmctld has forgotten last
  using Answer = std::vector<JobView>;
  static constexpr char kName[] = "poll";
  std::vector<JobIdentity> jobs;
  std::vector<SlurmJobId> unheard{};  // no worker of these has spoken: one that was cancelled had perhaps never been started
  static constexpr auto fields() { return table(field("jobs", &Poll::jobs), field("unheard", &Poll::unheard)); }
  friend Result<Answer> answer(const Poll&);
};
struct Reconcile {  // all that slurmctld still shows with the tag of this instance, ended ones too
  using Answer = std::vector<JobView>;
  static constexpr char kName[] = "reconcile";
  InstanceId instance;
  static constexpr auto fields() { return table(field("instance", &Reconcile::instance)); }
  friend Result<Answer> answer(const Reconcile&);
};
struct AskQueue {  // what squeue would show of this user's jobs that carry a tag of any instance
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
  std::string not_nodes;  // "g[1-3]", to be told as names
  static constexpr auto fields() { return table(field("not_nodes", &AskClusterSnapshot::not_nodes)); }
  friend Result<Answer> answer(const AskClusterSnapshot&);
};
struct AskQueueSnapshot {  // who waits for room, and what these jobs hold
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
struct WriteQos {  // makes those that are not there, changes those that are; answers what there is then
  using Answer = QosFacts;
  static constexpr char kName[] = "write_qos";
  static constexpr bool kAdmin = true, kDeed = true;
  std::vector<Qos> qos;
  static constexpr auto fields() { return table(field("qos", &WriteQos::qos)); }
  friend Result<Answer> answer(const WriteQos&);
};
struct AskAllocations {  // everybody's jobs that wait or run
  using Answer = Allocations;
  static constexpr char kName[] = "allocations";
  static constexpr bool kAdmin = true;
  static constexpr auto fields() { return table(); }
  friend Result<Answer> answer(const AskAllocations&);
};
struct AskUsage {  // what was held since then, from slurmdbd
  using Answer = UsageFacts;
  static constexpr char kName[] = "usage";
  static constexpr bool kAdmin = true;
  std::int64_t from_s = 0;  // unix
  static constexpr auto fields() { return table(field("from_s", &AskUsage::from_s)); }
  friend Result<Answer> answer(const AskUsage&);
};

using Question = std::variant<AskVersion, AskFacts, Submit, Cancel, Note, Poll, Reconcile, AskQueue, AskClasses, AskClusterSnapshot, AskQueueSnapshot,
                              ReadQos, WriteQos, AskAllocations, AskUsage>;

// What takes any answer for one who takes that of an Asked.
template <class Asked>
std::function<void(Result<std::any>)> any_for(std::function<void(Result<typename Asked::Answer>)> reply) {
  return [reply = std::move(reply)](Result<std::any> answer) {
    reply(std::move(answer).map([](std::any&& value) { return std::any_cast<typename Asked::Answer>(std::move(value)); }));
  };
}

template <class Asked>
inline constexpr bool kIsDeed = requires { requires Asked::kDeed; };
template <class Asked>
inline constexpr bool kIsAdmins = requires { requires Asked::kAdmin; };

inline bool is_deed(const Question& question) {
  return std::visit([]<class Asked>(const Asked&) { return kIsDeed<Asked>; }, question);
}
inline bool is_admins(const Question& question) {
  return std::visit([]<class Asked>(const Asked&) { return kIsAdmins<Asked>; }, question);
}

}  // namespace pounce::slurm
