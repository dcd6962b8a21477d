#include "messages/limit_words.h"

#include "messages/counted.h"

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
  if (days == 0) return std::to_string(hours) + " h" + (minutes % 60 != 0 ? " " + std::to_string(minutes % 60) + " min" : "");
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
      return count % 1024 == 0 ? std::to_string(count / 1024) + " GiB of memory" : std::to_string(count) + " MiB of memory";
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
    const char* verb = limit.thing == Thing::kJobs ? (use.most == 1 ? " runs" : " run") : (use.most == 1 ? " waits or runs" : " wait or run");
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
  return std::string("; it ends when ") + (jobs ? "one ends" : "enough is given back") + ", or an admin can raise the limit";
}

}  // namespace

std::string limit_words(const Limit& limit, const LimitUse& use, const std::string& of_class) {
  const std::string whose = limit.of == Of::kClass ? of_class : "your account";
  const bool never = in_vain(limit, use);
  const bool known = !use.what.empty() && limit.measure == Limit::Measure::kAtOnce;
  const std::string fault = limit.least ? whose + " is for larger jobs: " : whose + " does not give so much: ";
  const std::string bound = !known || !never ? "" : limit.least ? "at least " : "at most ";
  const std::string body = known ? numbers(limit, use) : noun(limit.thing) + std::string(measure(limit)) + for_whom(limit);
  return (never ? fault : "a limit of " + whose + " is reached: ") + bound + body + what_ends_it(limit, never);
}

}  // namespace pounce::messages
