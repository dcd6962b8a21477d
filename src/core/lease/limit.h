// The limits that Slurm names as reasons of waiting, taken apart: "QOSMaxGRESPerUser" is a limit of the class, of one
// user, of GPUs at a time. Slurm has some 170 of these names and makes new ones by the same rules, so they are read
// by the rules. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pounce::lease {

struct Limit {
  enum class Of : std::uint8_t { kClass, kAccount };
  enum class Per : std::uint8_t { kJob, kNode, kUser, kAccount, kEverybody };
  enum class Thing : std::uint8_t { kJobs, kSubmitted, kTime, kCpus, kMemory, kNodes, kGpus, kLicences, kStorage, kEnergy, kCharge, kOther };
  enum class Measure : std::uint8_t { kAtOnce, kMinutes, kRunMinutes };  // used in all; still to be used by what runs

  Of of = Of::kClass;
  Per per = Per::kJob;
  Thing thing = Thing::kOther;
  Measure measure = Measure::kAtOnce;
  bool least = false;  // not at most so many but at least

  // No waiting helps: the job itself is too large, or too small.
  bool of_one_job() const { return least || per == Per::kJob || per == Per::kNode; }
};

// Nothing: it is no limit, or none that this build knows.
std::optional<Limit> limit_of(std::string_view slurm_reason);

}  // namespace pounce::lease
