// One job of the local launcher, and the file by which a restarted daemon finds it. The file is written before the
// job's program runs, so that no program runs unrecorded. Thread: loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "launch/local_nodes.h"
#include "model/job.h"
#include "pounce/error.h"

namespace pounce::launch {

struct LocalJob {
  JobView view;
  std::uint64_t started = 0;      // start_ticks() of its process
  LocalPlaces places;             // its rooms, and the indexes of its devices there
  bool child = false;             // of this process, which will get its exit status
  JobEnd ending = JobEnd::kNone;  // why we have told it to end
  TimePoint kill_at = TimePoint::max();

  pid_t process = 0;  // set for a job that had to wait: it had its number before it had a process

  pid_t pid() const { return process != 0 ? process : static_cast<pid_t>(view.job_identity.job.value); }
  bool over() const { return view.state == JobState::kEnded; }
};

Result<void> write_record(const std::string& folder, const LocalJob& job);
void remove_record(const std::string& folder, const LocalJob& job);
// The jobs of this folder whose process still runs. Removes the records of the others.
std::vector<LocalJob> read_records(const std::string& folder);

}  // namespace pounce::launch
