#include "messages/waiting_words.h"

#include <string_view>
#include <utility>

namespace pounce::messages {
namespace {

using job::Limit;
using Of = Limit::Of;
using Per = Limit::Per;
using Thing = Limit::Thing;

const char* noun(Thing thing) {
  switch (thing) {
    case Thing::kJobs:
      return "running jobs";
    case Thing::kSubmitted:
      return "jobs that wait or run";
    case Thing::kTime:
      return "time";
    case Thing::kCpus:
      return "CPUs";
    case Thing::kMemory:
      return "memory";
    case Thing::kNodes:
      return "nodes";
    case Thing::kGpus:
      return "GPUs";
    case Thing::kLicences:
      return "software licences";
    case Thing::kStorage:
      return "fast storage";
    case Thing::kEnergy:
      return "energy";
    case Thing::kCharge:
      return "what is charged";
    case Thing::kOther:
      return "something that is limited";
  }
  return "";
}

std::string time_of(std::uint64_t minutes) {
  const std::uint64_t hours = minutes / 60, days = hours / 24;
  if (hours == 0) return std::to_string(minutes) + " min";
  if (days == 0)
    return std::to_string(hours) + " h" + (minutes % 60 != 0 ? " " + std::to_string(minutes % 60) + " min" : "");
  return std::to_string(days) + " d" + (hours % 24 != 0 ? " " + std::to_string(hours % 24) + " h" : "");
}

// "gres/gpu:a100" -> "GPU of type a100"
std::string quantity(Thing thing, const std::string& what, std::uint64_t count) {
  const auto colon = what.find(':');
  switch (thing) {
    case Thing::kJobs:
    case Thing::kSubmitted:
      return counted(count, "job");
    case Thing::kTime:
      return time_of(count);
    case Thing::kCpus:
      return counted(count, "CPU");
    case Thing::kMemory:
      return count % 1024 == 0 ? std::to_string(count / 1024) + " GiB of memory"
                               : std::to_string(count) + " MiB of memory";
    case Thing::kNodes:
      return counted(count, "node");
    case Thing::kGpus:
      return counted(count, "GPU") + (colon == std::string::npos ? "" : " of type " + what.substr(colon + 1));
    case Thing::kLicences:
    case Thing::kStorage:
    case Thing::kEnergy:
    case Thing::kCharge:
    case Thing::kOther:
      return std::to_string(count) + " (" + noun(thing) + ")";
  }
  return {};
}

const char* for_whom(const Limit& limit) {
  switch (limit.per) {
    case Per::kJob:
      return " for one job";
    case Per::kNode:
      return " for one job on one node";
    case Per::kUser:
      return " for one user";
    case Per::kAccount:
      return " for all of one account together";
    case Per::kEverybody:
      return limit.of == Of::kClass ? " for all people together" : " for all of the account together";
  }
  return "";
}

const char* measure(const Limit& limit) {
  if (limit.measure == Limit::Measure::kMinutes) return ", counted over time,";
  return limit.measure == Limit::Measure::kRunMinutes ? ", times the minutes that running jobs still have," : "";
}

std::string used(const Limit& limit, const LimitUse& use) {
  const bool own = limit.per == Per::kUser;
  const std::string asks = use.asked > 0 ? ", and this one asks for " + std::to_string(use.asked) : "";
  if (limit.thing == Thing::kJobs || limit.thing == Thing::kSubmitted) {
    const char* verb = use.used == 1 ? " does" : " do";
    return ", and " + std::to_string(use.used) + (own ? " of yours" : "") + verb;
  }
  if (limit.of_one_job()) return "; this one asks for " + quantity(limit.thing, {}, use.asked);
  return std::string(own ? "; yours have " : "; in use are ") + std::to_string(use.used) + asks;
}

std::string numbers(const Limit& limit, const LimitUse& use) {
  const std::string most = quantity(limit.thing, use.what, use.most);
  if (limit.thing == Thing::kJobs || limit.thing == Thing::kSubmitted) {
    const char* verb = limit.thing == Thing::kJobs ? (use.most == 1 ? " runs" : " run")
                                                   : (use.most == 1 ? " waits or runs" : " wait or run");
    const std::string whom = limit.per == Per::kUser ? "" : for_whom(limit);
    return most + verb + " at a time" + whom + used(limit, use);
  }
  return most + for_whom(limit) + used(limit, use);
}

// Waiting does not help a job that requests more than the whole limit.
bool in_vain(const Limit& limit, const LimitUse& use) {
  return limit.of_one_job() || (!use.what.empty() && use.asked > use.most);
}

std::string what_ends_it(const Limit& limit, bool never) {
  if (limit.least) return "; it never starts as it is: ask for more";
  if (never) return "; it never starts as it is: ask for less, or an admin can raise the limit";
  if (limit.measure != Limit::Measure::kAtOnce) return "; it ends as time goes by, or an admin can raise the limit";
  const bool jobs = limit.thing == Thing::kJobs || limit.thing == Thing::kSubmitted;
  return std::string("; it ends when ") + (jobs ? "one ends" : "enough is given back") +
         ", or an admin can raise the limit";
}

}  // namespace

std::string limit_words(const Limit& limit, const LimitUse& use, const std::string& of_class) {
  const std::string whose = limit.of == Of::kClass ? of_class : "your account";
  const bool never = in_vain(limit, use);
  const bool known = !use.what.empty() && limit.measure == Limit::Measure::kAtOnce;
  const std::string fault = limit.least ? whose + " is for larger jobs: " : whose + " does not give so much: ";
  const std::string bound = !known || !never ? "" : limit.least ? "at least " : "at most ";
  const std::string body =
      known ? numbers(limit, use) : noun(limit.thing) + std::string(measure(limit)) + for_whom(limit);
  return (never ? fault : "a limit of " + whose + " is reached: ") + bound + body + what_ends_it(limit, never);
}

namespace {

constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
    {"", "Slurm has not looked at it yet"},
    {"None", "Slurm has not looked at it yet"},
    {"SchedDefer", "Slurm has not looked at it yet"},
    {"Resources", "everything that fits is in use"},
    {"Priority", "other jobs go first"},
    {"Prolog", "its node is being prepared"},
    {"Cleaning", "its last run is still being cleaned up"},
    // a decision of the user or an admin
    {"JobHeldUser", "the job is held, by you or a program of yours: scontrol release lets it go"},
    {"JobHeldAdmin", "an admin holds the job back, and can let it go"},
    {"JobHoldMaxRequeue", "its start failed too often, so Slurm holds it back; an admin can let it go"},
    {"BeginTime", "it may not begin before a given time"},
    {"Dependency", "it waits for the end of another job"},
    {"DependencyNeverSatisfied", "the job that it waits for did not end as it should: it never starts, cancel it"},
    {"JobArrayTaskLimit", "so many of its group run already as may run at a time"},
    {"Licenses", "all licences of the software that it asks for are in use"},
    {"Reservation", "it is to run in a reserved time or place, which is not there yet"},
    {"ReservationDeleted", "the reserved time or place that it asks for is gone: it never starts, cancel it"},
    {"ReservationInvalid",
     "the reserved time or place that it asks for is not open to you: it never starts, cancel it"},
    // the machines
    {"ReqNodeNotAvail", "nodes that it needs are down or kept free for now"},
    {"NodeDown", "a node that it needs is down"},
    {"FrontEndDown", "the machine that starts jobs is down"},
    {"PartitionDown", "its part of the cluster starts nothing now"},
    {"PartitionInactive", "its part of the cluster takes nothing now"},
    {"PartitionNodeLimit", "its part of the cluster does not have so many nodes for one job: ask for less"},
    {"PartitionTimeLimit", "its part of the cluster does not give one job so much time: ask for less"},
    {"PartitionConfig", "its part of the cluster has nothing that fits: ask for less"},
    {"MaxMemPerLimit", "it asks for more memory than one job may have there: ask for less"},
    {"BadConstraints", "no node has what it asks for: it never starts, ask for something else"},
    {"Constraints", "no node has what it asks for: it never starts, ask for something else"},
    {"PowerNotAvail", "there is not enough electric power for it now"},
    {"PowerReserved", "the electric power that it needs is kept for others"},
    {"MaxPoweredUpNodes", "so many nodes are switched on already as may be"},
    {"MpiPortsBusy", "the network ports that it needs are in use"},
    {"BurstBufferResources", "the fast storage that it asks for is in use"},
    {"BurstBufferStageIn", "its data is being copied to fast storage"},
    {"BurstBufferOperation", "copying its data to or from fast storage failed"},
    {"BlockMaxError", "too many of the processors that it needs are broken"},
    {"BlockFreeAction", "the processors that it needs are being set free"},
    {"FedJobLock", "another cluster decides about it now"},
    // what it may not do
    {"InvalidAccount", "your account is not known any more: it never starts"},
    {"AccountNotAllowed", "its part of the cluster is not open to your account"},
    {"AccountingPolicy", "a limit of your account is reached"},
    {"QOSUsageThreshold", "you have used more than your share, and this class waits until that is made up for"},
    // an end that Slurm still shows
    {"SystemFailure", "Slurm failed to start it"},
    {"JobLaunchFailure", "Slurm failed to start it"},
    {"NonZeroExitCode", "it ended with an error"},
    {"RaisedSignal", "it was ended by a signal"},
    {"TimeLimit", "its time was over"},
    {"InactiveLimit", "it did nothing for too long"},
    {"DeadLine", "it could not end before its deadline"},
    {"OutOfMemory", "it used more memory than it asked for"},
};

std::string of_the_class(const job::Waiting& waiting) {
  return waiting.class_name.empty() ? "its class" : "class " + waiting.class_name;
}

// What Slurm adds names the nodes: "…UnavailableNodes:g1".
std::string nodes_of(const std::string& sentence) {
  constexpr std::string_view kNodes = "UnavailableNodes:";
  const auto at = sentence.find(kNodes);
  if (at == std::string::npos || at + kNodes.size() == sentence.size()) return {};
  return " (" + sentence.substr(at + kNodes.size()) + ")";
}

// The word is Resources, but the sentence "Nodes required for job are DOWN, DRAINED or reserved …".
bool about_down_nodes(const std::string& sentence) {
  return sentence.find("DRAINED") != std::string::npos && sentence.find("DOWN") != std::string::npos;
}

std::string before_it(std::int32_t ahead) {
  if (ahead < 0) return {};
  if (ahead == 0) return "; it is the next";
  return "; " + std::to_string(ahead) + (ahead == 1 ? " job is" : " jobs are") + " ahead of it";
}

}  // namespace

std::string waiting_words(const job::Waiting& waiting) {
  if (waiting.word == "Resources" && about_down_nodes(waiting.sentence))
    return "all nodes that fit are down, or kept for others; an admin can say more";
  if (waiting.word == "InvalidQOS" || waiting.word == "QOSNotAllowed")
    return of_the_class(waiting) + " is not open to you any more: ask for another one, or an admin";
  if (const auto limit = job::limit_of(waiting.word)) return limit_words(*limit, waiting.limit, of_the_class(waiting));
  for (const auto& [word, words] : kReasons) {
    if (waiting.word != word) continue;
    std::string reason(words);
    if (word == "ReqNodeNotAvail") reason.append(nodes_of(waiting.sentence)).append("; an admin can say more");
    if (word == "Resources" || word == "Priority") reason += before_it(waiting.ahead);
    return reason;
  }
  return "Slurm says " + waiting.sentence;
}

}  // namespace pounce::messages
