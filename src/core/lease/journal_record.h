// What pounced must remember of a lease across its own death. The shell writes each as one checksummed JSON line; an
// intent is on disk before the submission that follows it. The journal is a hint, Slurm is the truth (design §4).
#pragma once

#include <cstdint>
#include <string>

#include "pounce/ids.h"
#include "pounce/resources.h"

namespace pounce::lease {

struct JournalRecord {
  enum class Kind : std::uint8_t {
    kIntent,     // about to submit: lease, resources, session, want
    kSubmitted,  // a job exists: lease, job
    kEnded       // no job is left: lease, reason
  };
  Kind kind = Kind::kIntent;
  LeaseId lease;
  Resources resources;
  SessionId session;
  WantId want;
  Incarnation job;
  std::string reason;  // of the end, for people
  bool operator==(const JournalRecord&) const = default;
};

}  // namespace pounce::lease
