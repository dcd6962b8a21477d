// What Slurm says about a job, in our types: the limit that it names as a reason of waiting, what it last said of a
// queued job's wait, and which error a job's end is. Pure. Thread: any (values).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/job.h"
#include "pounce/error.h"

namespace pounce::job {

// A limit by its parts: "QOSMaxGRESPerUser" is a limit of the class, of one user, of GPUs at a time. Slurm has some 170
// of these names and makes new ones by the same rules, so they are read by the rules.
struct Limit {
  enum class Of : std::uint8_t { kClass, kAccount };
  enum class Per : std::uint8_t { kJob, kNode, kUser, kAccount, kEverybody };
  enum class Thing : std::uint8_t {
    kJobs,
    kSubmitted,
    kTime,
    kCpus,
    kMemory,
    kNodes,
    kGpus,
    kLicences,
    kStorage,
    kEnergy,
    kCharge,
    kOther
  };
  enum class Measure : std::uint8_t { kAtOnce, kMinutes, kRunMinutes };  // used in all; still to be used by what runs

  Of of = Of::kClass;
  Per per = Per::kJob;
  Thing thing = Thing::kOther;
  Measure measure = Measure::kAtOnce;
  bool least = false;  // not at most so many but at least

  // No waiting helps: the job itself is too large, or too small.
  bool of_one_job() const { return least || per == Per::kJob || per == Per::kNode; }
};

// nullopt: the word names no limit, or none that this build knows.
std::optional<Limit> limit_of(std::string_view slurm_reason);

// What Slurm last said of a queued job's wait: its word, the limit with its numbers, the place in line.
struct Waiting {
  std::string word;        // Slurm's: "QOSMaxJobsPerUserLimit"
  std::string sentence;    // what Slurm adds, "ReqNodeNotAvail, UnavailableNodes:g1"; the word where it adds nothing
  std::string class_name;  // of the job
  LimitUse limit;
  std::int32_t ahead = -1;  // jobs that go first; -1: not known
  Eta eta{};
  bool operator==(const Waiting&) const = default;
};

Waiting waiting_of(const JobView& view);

// The typed reason of a job that ended by itself, or that pounced did not end.
// grace: the time that a preempted job had, as far as it is known.
Error error_of_end(const JobView& view, std::chrono::seconds grace = {});

// srun did not give a job the workers of its further nodes: the next job would end likewise.
bool is_of_srun(const Error& end);

}  // namespace pounce::job
