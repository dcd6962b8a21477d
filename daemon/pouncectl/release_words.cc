#include "pouncectl/release_words.h"

namespace pounce::ctl {

std::string release_words(const LeaseRow& before, const protocol::ReleaseRow& after, protocol::ReleaseHow how) {
  const std::string job = before.job == 0 ? "its job" : "job " + std::to_string(before.job);
  const bool had_tasks = before.waiting + before.running > 0;
  const std::string lost = had_tasks && how != protocol::ReleaseHow::kWhenIdle ? "; its tasks end" : "";
  if (after.state == "ended") return before.job == 0 ? "withdrawn: no job was asked for" + lost : "has ended" + lost;
  if (after.state == "ending") return job + " is cancelled" + lost;
  if (after.state == "draining") return "its worker ends, and " + job + " with it" + lost;
  if (how != protocol::ReleaseHow::kWhenIdle) return job + " is cancelled as soon as Slurm has named it" + lost;
  LeaseRow left;
  left.waiting = after.waiting;
  left.running = after.running;
  const std::string tasks = tasks_of(left);
  return "goes back as soon as it is idle" + (tasks.empty() ? "" : "; tasks: " + tasks) +
         " (at once, ending them: pouncectl release --now " + short_id(before.lease) + ")";
}

}  // namespace pounce::ctl
