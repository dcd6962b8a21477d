#include "core/lease/limit.h"

#include <utility>

namespace pounce::lease {
namespace {

using Of = Limit::Of;
using Per = Limit::Per;
using Thing = Limit::Thing;
using Measure = Limit::Measure;

bool take_front(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_back(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

// Spelled differently from one name to the next: QOSMaxCpuPerJobLimit but QOSGrpCPUMinutesLimit.
constexpr std::pair<std::string_view, Thing> kThings[] = {
    {"Jobs", Thing::kJobs},       {"SubmitJobs", Thing::kSubmitted}, {"SubmitJob", Thing::kSubmitted},
    {"Wall", Thing::kTime},       {"WallDuration", Thing::kTime},    {"Cpu", Thing::kCpus},
    {"CPU", Thing::kCpus},        {"Mem", Thing::kMemory},           {"Memory", Thing::kMemory},
    {"Node", Thing::kNodes},      {"GRES", Thing::kGpus},            {"License", Thing::kLicences},
    {"BB", Thing::kStorage},      {"Energy", Thing::kEnergy},        {"Billing", Thing::kCharge},
    {"Unknown", Thing::kOther},
};

// The names of before 2014, without a word of whose limit it is.
constexpr std::pair<std::string_view, Limit> kOld[] = {
    {"AssociationJobLimit", {Of::kAccount, Per::kEverybody, Thing::kJobs}},
    {"AssociationResourceLimit", {Of::kAccount, Per::kEverybody, Thing::kOther}},
    {"AssociationTimeLimit", {Of::kAccount, Per::kJob, Thing::kTime}},
    {"QOSJobLimit", {Of::kClass, Per::kEverybody, Thing::kJobs}},
    {"QOSResourceLimit", {Of::kClass, Per::kEverybody, Thing::kOther}},
    {"QOSTimeLimit", {Of::kClass, Per::kJob, Thing::kTime}},
};

// Where it is not said: a limit on an association is that user's.
Per whose(std::string_view& name) {
  if (take_back(name, "PerJob")) return Per::kJob;
  if (take_back(name, "PerNode")) return Per::kNode;
  if (take_back(name, "PerAccount")) return Per::kAccount;
  take_back(name, "PerUser");
  return Per::kUser;
}

Measure measure_of(std::string_view& name) {
  if (take_back(name, "RunMinutes") || take_back(name, "RunMins")) return Measure::kRunMinutes;
  return take_back(name, "Minutes") ? Measure::kMinutes : Measure::kAtOnce;
}

}  // namespace

std::optional<Limit> limit_of(std::string_view name) {
  for (const auto& [old, limit] : kOld)
    if (name == old) return limit;
  Limit limit;
  // Those of a class for one account, or for the minutes of one user, do not say QOS.
  const bool of_class = take_front(name, "QOS");
  if (!of_class && take_front(name, "Assoc")) limit.of = Of::kAccount;
  take_back(name, "Limit") || take_back(name, "NotSatisfied");
  const bool group = take_front(name, "Grp");
  limit.least = !group && take_front(name, "Min");
  if (!group && !limit.least && !take_front(name, "Max")) return std::nullopt;
  limit.per = group ? Per::kEverybody : limit.least ? Per::kJob : whose(name);
  limit.measure = measure_of(name);
  for (const auto& [word, thing] : kThings)
    if (name == word) {
      limit.thing = thing;
      if (group && thing == Thing::kTime) limit.measure = Measure::kMinutes;  // of all jobs there ever were
      return limit;
    }
  return std::nullopt;
}

}  // namespace pounce::lease
