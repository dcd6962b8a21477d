#include "pounced/leases/queue_rows.h"

#include "job/slurm_reason.h"

namespace pounce::daemon {
namespace {

constexpr std::size_t kMostRows = 400;  // about 400 bytes each; a message has at most 256 KiB

protocol::QueueRow row_of(const JobView& view) {
  protocol::QueueRow row;
  row.job = view.job_identity.job.value;
  row.name = view.name;
  row.class_name = view.class_name;
  row.state = view.state_name;
  row.reason = view.reason;
  row.node = view.nodes;
  row.devices = view.devices;
  row.lease = view.lease ? view.lease->hex() : "";
  row.submit_time_s = view.submit_time_s;
  row.start_time_s = view.start_time_s;
  row.end_time_s = view.end_time_s;
  if (view.state != JobState::kQueued) return row;
  row.word = job::waiting_of(view).word;
  row.limit = view.limit;
  row.ahead = view.ahead;
  return row;
}

}  // namespace

protocol::QueueIs queue_rows(const Result<std::vector<JobView>>& views) {
  protocol::QueueIs answer;
  if (!views) {
    answer.error = views.error();
    return answer;
  }
  for (const JobView& view : *views) {
    if (answer.rows.size() == kMostRows) break;
    answer.rows.push_back(row_of(view));
  }
  return answer;
}

}  // namespace pounce::daemon
