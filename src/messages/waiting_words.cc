#include "messages/waiting_words.h"

#include <string_view>
#include <utility>

#include "job/slurm_reason.h"
#include "messages/limit_words.h"

namespace pounce::messages {
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
    {"ReservationInvalid", "the reserved time or place that it asks for is not open to you: it never starts, cancel it"},
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
