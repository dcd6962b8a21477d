#include "core/lease/lease.h"

namespace pounce::lease {

JournalRecord journal_line(const Lease& lease, JournalRecord::Kind kind, const Cause& why) {
  JournalRecord line;
  line.kind = kind;
  line.lease = lease.id;
  if (kind == JournalRecord::Kind::kIntent) {
    line.resources = lease.resources;
    if (lease.owner) line.session = lease.owner->session, line.request = lease.owner->request;
  }
  if (kind == JournalRecord::Kind::kSubmitted && lease.job) line.job = *lease.job;
  line.why = why;
  return line;
}

Error with_evidence(const Lease& lease, Error error) {
  error.context.try_emplace("lease", lease.id.hex());
  if (lease.job) error.context.try_emplace("job", std::to_string(lease.job->job.value));
  return error;
}

}  // namespace pounce::lease
