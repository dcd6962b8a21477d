#include "messages/sentence.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "messages/waiting_words.h"

namespace pounce::messages {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }
std::string job(const Cause& cause) { return "Slurm job " + number(cause.job); }
std::string of_class(const Cause& cause) { return "class " + cause.word; }
std::string worker(const Cause& cause) { return "worker " + number(cause.number); }
std::string behind(const Cause& cause) {
  return cause.because.empty() ? std::string() : sentence(cause.because.front());
}

std::string without_full_stop(std::string words) {
  if (words.ends_with('.')) words.pop_back();
  return words;
}

std::string on(const std::string& node) { return node.empty() ? node : " on " + node; }
std::string before(const char* mark, const std::string& words) { return words.empty() ? words : mark + words; }

std::string span(std::chrono::seconds time) {
  return time.count() % 60 == 0 ? number(time.count() / 60) + " min" : number(time.count()) + " s";
}

// "14:02", as the reader's clock shows it.
std::string clock_time(std::int64_t moment_s) {
  const std::time_t moment = moment_s;
  std::tm local{};
  char text[6] = "";
  ::localtime_r(&moment, &local);
  std::strftime(text, sizeof text, "%H:%M", &local);
  return text;
}

}  // namespace

std::string sentence(const Cause& cause) {
  switch (cause.code) {
    case CauseCode::kNone:
      return {};
    case CauseCode::kSaid:
      return cause.said;
    // a lease that waits
    case CauseCode::kAboutToAsk:
      return "about to ask Slurm";
    case CauseCode::kAsking:
      return "asking Slurm for a job";
    case CauseCode::kLooking:
      return "looking whether Slurm has the job" +
             (cause.because.empty() ? "" : " (" + without_full_stop(behind(cause)) + ")");
    case CauseCode::kSlurmWaits:
      return waiting_words({cause.word, cause.word, {}, {}, -1, {}});
    case CauseCode::kSlurmSilent:
      return "Slurm does not answer (" + behind(cause) + "); running work goes on";
    case CauseCode::kStartRate:
      return "this site lets one daemon ask for " + number(cause.number) +
             " leases an hour, and so many were asked for";
    case CauseCode::kRetrySoon:
      return "trying again soon: " + behind(cause);
    case CauseCode::kReleasedByUser:
      return "a user gave the last lease back; a new one is not asked for at once";
    case CauseCode::kCancelledOutside:
      return "the last job was cancelled by somebody; a new one is not asked for at once";
    // a lease that has its job
    case CauseCode::kJobStarts:
      return "the job starts";
    case CauseCode::kInterpreterStarts:
      return "the interpreter starts";
    case CauseCode::kReady:
      return "ready";
    case CauseCode::kKept:
      return "ready, and kept until somebody waits for it";
    case CauseCode::kKeptShortly:
      return "ready, and kept for a short time only: this Slurm shows nobody who else waits";
    case CauseCode::kPreempted:
      return "preempted: a job that goes first takes its place";
    case CauseCode::kEnds:
      return "it ends";
    // why pounce ended it
    case CauseCode::kNothingWaits:
      return "Nothing waits for it any more.";
    case CauseCode::kIdle:
      return "Given back: nothing waited for it or ran on it.";
    case CauseCode::kReleasedWhenIdle:
      return "Given back: a user asked for it, and nothing waited for it or ran on it.";
    case CauseCode::kReleased:
      return "Released by " + cause.word + ".";
    case CauseCode::kCancelled:
      return "Cancelled by " + cause.word + ".";
    case CauseCode::kOtherJobWaits:
      return "Given back: somebody waited for it.";
    case CauseCode::kOtherResources:
      return "Given back: the request asks for other resources now.";
    case CauseCode::kAnotherServes:
      return "Another lease serves.";
    case CauseCode::kSessionClosed:
      return "Given back: its session closed.";
    case CauseCode::kSessionSilent:
      return "Given back: its session was not heard any more.";
    case CauseCode::kUnclaimed:
      return "Nobody claimed it after a restart of pounced.";
    case CauseCode::kNoInterpreter:
      return "The job runs, but no interpreter came up in time.";
    case CauseCode::kInterpreterDied:
      return "The interpreter died " + number(cause.number) + " times: " + behind(cause);
    case CauseCode::kWorkerSilent:
      return "Its worker" + on(cause.node) + " was not heard for " + number(cause.time.count()) +
             " s and its job was cancelled: its task may have executed.";
    case CauseCode::kUnknownToSlurm:
      return "Slurm does not know " +
             (cause.job != 0 ? "job " + number(cause.job) : std::string("a job of this lease")) + " any more.";
    case CauseCode::kLeaseOver:
      return "This lease has ended.";
    case CauseCode::kEndedUnseen:
      return "It ended while no pounced watched it, and Slurm does not show its job any more: a task that ran there "
             "may have executed.";
    case CauseCode::kNotSubmitted:
      return "This lease has not been submitted.";
    case CauseCode::kWorkerTooMany:
      return "This lease does not have so many workers.";
    case CauseCode::kWorkerReplaced:
      return "Another process of its job has this worker's place.";
    // how its job ended
    case CauseCode::kJobCancelled:
      return job(cause) + " was cancelled by somebody.";
    case CauseCode::kJobTimeLimit:
      return job(cause) + " reached its time limit.";
    case CauseCode::kJobDeadline:
      return job(cause) + " reached its deadline.";
    case CauseCode::kJobMemory:
      return job(cause) + " used more memory than it asked for.";
    case CauseCode::kJobPreempted:
      return job(cause) + " was preempted by a job that goes first" +
             (cause.time.count() > 0 ? ", with " + number(cause.time.count()) + " s of grace to end in." : ".");
    case CauseCode::kJobNodeLost:
      return job(cause) + " was lost with its node.";
    case CauseCode::kJobSignal:
      return job(cause) + " was ended by signal " + number(cause.number) + ".";
    case CauseCode::kJobExited:
      return job(cause) + " ended by itself with exit code " + number(cause.number) + ".";
    case CauseCode::kJobNoSrun:
      return job(cause) +
             " has several nodes, and its first one cannot run srun, which starts the workers of the others.";
    case CauseCode::kJobSrunFailed:
      return job(cause) +
             " lost the workers of one of its nodes: srun, which starts them there, failed again and again.";
    case CauseCode::kJobNotStarted:
      return job(cause) + " could not be started" + on(cause.node) +
             ", and Slurm cancelled it: a prolog failed there, or the node cannot run jobs.";
    case CauseCode::kJobGone:
      return job(cause) + " is gone; Slurm has no record of how it ended.";
    case CauseCode::kJobEnded:
      return job(cause) + " ended.";
    case CauseCode::kJobRequeued:
      return "Slurm requeued job " + number(cause.job) + ".";
    // how a worker's interpreter ended
    case CauseCode::kWorkerMemory:
      return "the worker" + on(cause.node) + " used more memory than it may have" +
             (cause.number > 0 ? " (" + number(cause.number) + " MiB)" : "") + " and was killed";
    case CauseCode::kTaskDidNotStop:
      return "the cancelled task did not stop in time: its worker" + on(cause.node) + " was killed and starts again";
    case CauseCode::kDidNotStart:
      return "the worker's interpreter" + on(cause.node) + " did not start: " + cause.said;
    case CauseCode::kDiedOfSignal:
      return "the worker" + on(cause.node) + " died of " + cause.word + " (" + cause.said + ")";
    case CauseCode::kEndedItself:
      return "the worker" + on(cause.node) + " ended itself with exit code " + number(cause.number);
    // how a task ended without an answer of its own
    case CauseCode::kTaskCancelled:
      return "The task was cancelled.";
    case CauseCode::kMayHaveRun:
      return "The task may have executed: it was in a worker that was lost." + before(" ", behind(cause));
    case CauseCode::kForgotten:
      return "The task may have executed: its worker has forgotten it.";
    case CauseCode::kUnreachableTooLong:
      return "Its worker could not be reached for so long that it has ended itself.";
    case CauseCode::kPythonStartedAnew:
      return "Its Python was started anew.";
    case CauseCode::kJobStartedTwice:
      return "The batch system started its job a second time, and the new processes took the place of its worker.";
    case CauseCode::kClientClosed:
      return "The client was closed before the task had ended.";
    case CauseCode::kSubmittedLate:
      return "The client was closed.";
    case CauseCode::kRelayed:
      return "the worker" + on(cause.node) + " does not see the results folder: what it returns stays there for " +
             span(cause.time) + " after its end, for a notebook that fetches it";
    case CauseCode::kNotWritten:
      return cause.said + "; it starts when there is room";
    case CauseCode::kNotFetched:
      return "nobody fetched what " + cause.word + " returned, within " + span(cause.time) +
             " of its end on a worker that does not see the results folder";
    // a limit of a class that a request would meet
    case CauseCode::kClassWithoutGpu:
      return of_class(cause) + " gives no GPU";
    case CauseCode::kClassGpusOfJob:
      return of_class(cause) + " gives one job " + counted(cause.number, "GPU") + " at most";
    case CauseCode::kClassGpusOfUser:
      return of_class(cause) + " gives you " + counted(cause.number, "GPU") + " at most";
    case CauseCode::kClassTime:
      return of_class(cause) + " gives one job " + number(cause.time.count() / 60) + " min at most";
    case CauseCode::kClassJobsTaken:
      return of_class(cause) + " runs " + counted(cause.number, "job") + " of yours at a time, and " +
             number(cause.used) + " run";
    case CauseCode::kClassGpusTaken:
      return of_class(cause) + " gives you " + counted(cause.number, "GPU") + " at a time, and you have " +
             number(cause.used);
    // what happened to a lease
    case CauseCode::kWanted:
      return "wanted by session " + cause.word;
    case CauseCode::kClaimed:
      return "claimed by session " + cause.word;
    case CauseCode::kSubmitted:
      return "submitted";
    case CauseCode::kInQueue:
      return job(cause);
    case CauseCode::kJobRuns:
      return job(cause) + " runs";
    case CauseCode::kSlurmEndsJob:
      return "Slurm is ending its job";
    case CauseCode::kOutcomeUnknown:
      return "outcome unknown: " + behind(cause);
    case CauseCode::kUnknownState:
      return "unknown state " + cause.word;
    case CauseCode::kFirstHeardOf:
      return "first heard of";
    case CauseCode::kFound:
      return "found by a reconciliation";
    case CauseCode::kNotFound:
      return "a reconciliation does not show its job";
    case CauseCode::kReadFromJournal:
      return "journal: " + cause.word + before(": ", behind(cause));
    case CauseCode::kIgnored:
      return cause.word + " ignored: " + cause.said;
    case CauseCode::kToBeYielded:
      return "its loop is to be left between two steps: somebody waits";
    case CauseCode::kToBeReleased:
      return "to be given back when idle";
    case CauseCode::kCancelDone:
      return "cancelled";
    case CauseCode::kCancelFailed:
      return "cancel failed: " + behind(cause);
    case CauseCode::kWarned:
      return "warned by the batch system";
    case CauseCode::kWorkerHere:
      return "its worker is here";
    case CauseCode::kWorkerConnected:
      return worker(cause) + " connected from " + cause.node;
    case CauseCode::kWorkerDisconnected:
      return worker(cause) + "'s connection is gone";
    case CauseCode::kWorkersSilent:
      return cause.number > 1 ? "its workers are silent" : "worker is silent";
    case CauseCode::kWorkerDied:
      return worker(cause) + ": interpreter died: " + behind(cause);
    case CauseCode::kStartedAgain:
      return "its interpreter is started again";
    case CauseCode::kTasksWait:
      return "tasks wait or run";
    case CauseCode::kTaskArrived:
      return "a task had just arrived";
  }
  return {};
}

std::string reason(const Cause& cause, const std::string& class_name, const model::QueueWait& wait,
                   std::int64_t not_before_s) {
  if (cause.code == CauseCode::kSlurmWaits)
    return waiting_words({cause.word, wait.slurm_reason, class_name, wait.limit, wait.ahead, wait.eta});
  if (not_before_s <= 0) return sentence(cause);
  return without_full_stop(sentence(cause)) + "; not before " + clock_time(not_before_s);
}

std::string basis(const Eta& eta) {
  if (eta.from == Eta::From::kNothing) return {};
  const std::string ahead = eta.ahead > 0 ? " and " + counted(eta.ahead, "job") + " ahead" : "";
  const std::string from =
      eta.from == Eta::From::kPlan ? "the start that Slurm plans" : counted(eta.running, "running job") + ahead;
  return from + (eta.seen > 0 ? ", and how long " + counted(eta.seen, "job") + " really ran"
                              : "; how long jobs really run is not known yet");
}

std::string remedy(const Cause& cause) {
  switch (cause.code) {
    case CauseCode::kJobNoSrun:
      return "Put Slurm's client commands into PATH on the nodes, leave this node out with not_nodes=, or ask for one "
             "node.";
    case CauseCode::kJobSrunFailed:
      return "Read what srun said with pouncectl logs; a batch job with nodes=2 that calls srun must work here.";
    default:
      return {};
  }
}

std::string text(const Error& error) { return error.cause ? sentence(error.cause) : error.text; }

namespace {

using model::JobFigures;
using std::chrono::minutes;

constexpr std::uint64_t kGiB = 1024;            // in MiB
constexpr std::int64_t kEnoughWorkMs = 60'000;  // less says nothing about CPUs and GPUs
constexpr std::int32_t kLittle = 20;            // per cent of the time that a GPU computes
constexpr minutes kShort{10};                   // less is not worth a suggestion

std::string decimal(double value) {
  const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string time_words(minutes time) {
  const auto hours = time.count() / 60, rest = time.count() % 60;
  if (hours == 0) return std::to_string(time.count()) + " min";
  return std::to_string(hours) + " h" + (rest == 0 ? "" : " " + std::to_string(rest) + " min");
}

// Half as much again as was used, in whole GiB.
std::uint64_t enough_memory(std::uint64_t used) { return (used * 3 / 2 + kGiB - 1) / kGiB * kGiB; }

std::string of_memory(const Resources& resources, const JobFigures& used) {
  if (resources.memory_mib == 0 || used.memory_peak_mib == 0) return {};
  const std::string said = "asked " + memory_words(resources.memory_mib) + " of memory, used " +
                           memory_words(used.memory_peak_mib) + " at most";
  if (used.memory_peak_mib * 10 > resources.memory_mib * 9)
    return said + ": ask for " + memory_words(enough_memory(used.memory_peak_mib)) + ", or Slurm may end it";
  const std::uint64_t enough = enough_memory(used.memory_peak_mib);
  return enough * 2 <= resources.memory_mib ? said + ": ask for " + memory_words(enough) : std::string();
}

std::string of_cpus(const Resources& resources, const JobFigures& used) {
  if (resources.cpus < 2 || used.busy_ms < kEnoughWorkMs) return {};
  const double mean = static_cast<double>(used.cpu_ms) / static_cast<double>(used.busy_ms) / resources.workers;
  const auto enough = static_cast<std::uint32_t>(std::max(std::ceil(mean), 1.0));
  if (enough * 2 > resources.cpus) return {};
  return "asked " + std::to_string(resources.cpus) + " CPUs, kept " + decimal(mean) + " busy on average: ask for " +
         std::to_string(enough);
}

std::string of_gpus(const Resources& resources, const JobFigures& used) {
  if (resources.gpus == 0 || used.busy_ms < kEnoughWorkMs) return {};
  std::string words;
  if (used.gpu_percent >= 0 && used.gpu_percent < kLittle)
    words = "its GPUs computed " + std::to_string(used.gpu_percent) + " % of the time: fewer, a slice or none may do";
  if (used.gpu_memory_peak_mib == 0 || used.gpu_memory_peak_mib * 4 > used.gpu_memory_total_mib) return words;
  return words + (words.empty() ? "" : "; ") + "used " + memory_words(used.gpu_memory_peak_mib) + " of " +
         memory_words(used.gpu_memory_total_mib) + " of GPU memory: one with " +
         memory_words(enough_memory(used.gpu_memory_peak_mib)) + " would do";
}

std::string of_time(const Resources& resources, const JobFigures& used, bool over) {
  const auto held = std::chrono::ceil<minutes>(std::chrono::milliseconds(used.busy_ms + used.idle_ms));
  if (!over || resources.time < 2 * kShort || held * 4 > resources.time) return {};
  return "asked " + time_words(resources.time) + ", held it for " + time_words(held) +
         ": a shorter time can start sooner";
}

}  // namespace

std::string memory_words(std::uint64_t mib) {
  if (mib < kGiB) return std::to_string(mib) + " MiB";
  if (mib % kGiB == 0) return std::to_string(mib / kGiB) + " GiB";
  return decimal(static_cast<double>(mib) / kGiB) + " GiB";
}

std::string suggestion(const Resources& resources, const JobFigures& used, bool over) {
  std::string words;
  for (const std::string& part :
       {of_memory(resources, used), of_cpus(resources, used), of_gpus(resources, used), of_time(resources, used, over)})
    if (!part.empty()) words += (words.empty() ? "" : "; ") + part;
  return words.empty() ? "what was asked for fits what was used" : words;
}

}  // namespace pounce::messages
