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

}  // namespace pounce::lease
