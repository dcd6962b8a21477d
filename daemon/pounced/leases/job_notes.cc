#include "pounced/leases/job_notes.h"

#include "base/log.h"
#include "job/job_tag.h"

namespace pounce::daemon {

void JobNotes::hold_begins(const LeaseId& lease) { send(lease, job::format_hold_note({instance_, lease})); }

void JobNotes::ending(const LeaseId& lease) {
  if (const auto note = uses_.note(instance_, lease, Clock::now())) send(lease, *note);
}

void JobNotes::send(const LeaseId& lease, const std::string& note) {
  const auto job = uses_.job(lease);
  if (!job || last_ == note) return;  // the end of each worker repeats the note, and one is enough
  last_ = note;
  launcher_.ask(slurm::Note{*job, note}, [lease](Result<slurm::Done> noted) {
    if (!noted) spdlog::info("lease={} its job's comment could not be written: {}", lease.hex(), noted.error().text);
  });
}

}  // namespace pounce::daemon
