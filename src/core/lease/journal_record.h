// What pounced must remember of a lease across its own death. The daemon writes each as one checksummed JSON line; an
// intent is on disk before the submission that follows it. The journal is a hint, Slurm is the truth.
#pragma once

#include <cstdint>

#include "pounce/cause.h"
#include "pounce/fields.h"
#include "pounce/ids.h"
#include "pounce/resources.h"

namespace pounce::lease {

struct JournalRecord {
  enum class Kind : std::uint8_t {
    kIntent,     // about to submit: lease, resources, session, want
    kSubmitted,  // a job exists: lease, job
    kEnded       // no job is left: lease, why
  };
  Kind kind = Kind::kIntent;
  LeaseId lease;
  Resources resources;
  SessionId session;
  RequestId request;
  JobIdentity job;
  Cause why;  // it ended
  bool operator==(const JournalRecord&) const = default;

  static constexpr auto fields() {
    return table(field("kind", &JournalRecord::kind),
                 field("lease", &JournalRecord::lease),
                 field("resources", &JournalRecord::resources, "of an intent").only_if_set(),
                 field("session", &JournalRecord::session, "of an intent").only_if_set(),
                 field("request", &JournalRecord::request, "of an intent").only_if_set(),
                 field("job", &JournalRecord::job, "of a submission").only_if_set(),
                 field("cause", &JournalRecord::why, "of the end").only_if_set());
  }
};

constexpr auto words(JournalRecord::Kind) {
  return words_of<JournalRecord::Kind>({"intent", "submitted", "ended"});
}

}  // namespace pounce::lease
