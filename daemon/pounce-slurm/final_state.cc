// SPDX-License-Identifier: GPL-3.0-or-later
#include "final_state.h"

#include <cerrno>
#include <cstring>

#include "slurm/slurm_job_state.h"
#include "slurm_compat.h"

namespace pounce::slurm {
namespace {

// A connection to slurmdbd for one question.
class Accounting {
 public:
  Accounting() {
    std::uint16_t flags = 0;
    errno = 0;
    connection_ = slurmdb_connection_get(&flags);
    // Not NULL even when slurmdbd is down: errno tells (libslurm.md §1).
    good_ = connection_ != nullptr && errno == 0;
  }
  ~Accounting() {
    if (connection_ != nullptr) slurmdb_connection_close(&connection_);
  }
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;
  void* get() const { return good_ ? connection_ : nullptr; }

 private:
  void* connection_ = nullptr;
  bool good_ = false;
};

void read_record(const slurmdb_job_rec_t& record, JobView& view) {
  const MappedState mapped = map_job_state(record.state);
  if (mapped.state != JobState::kEnded) return;
  view.end = mapped.end;
  view.raw_state = record.state;
  view.end_time_s = record.end;
  view.exit_code = (record.exitcode >> 8) & 0xff;
  view.signal = record.exitcode & 0x7f;
  if (record.nodes != nullptr) view.nodes = record.nodes;
}

}  // namespace

JobView final_state(const Incarnation& job) {
  JobView view;
  view.incarnation = job;
  view.state = JobState::kEnded;
  view.end = JobEnd::kGone;
  view.state_name = "GONE";
  const Accounting accounting;
  if (accounting.get() == nullptr) return view;
  slurm_selected_step_t step;
  std::memset(&step, 0, sizeof step);
  step.array_task_id = NO_VAL;
  step.het_job_offset = NO_VAL;
  step.step_id.job_id = job.job.value;
  step.step_id.step_id = NO_VAL;
  step.step_id.step_het_comp = NO_VAL;
  slurmdb_job_cond_t condition;
  std::memset(&condition, 0, sizeof condition);
  condition.flags = JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_STEP;
  condition.step_list = slurm_list_create(nullptr);
  slurm_list_append(condition.step_list, &step);
  if (auto* records = slurmdb_jobs_get(accounting.get(), &condition)) {
    auto* iterator = slurm_list_iterator_create(records);
    while (auto* record = static_cast<slurmdb_job_rec_t*>(slurm_list_next(iterator))) read_record(*record, view);
    slurm_list_iterator_destroy(iterator);
    slurm_list_destroy(records);
  }
  slurm_list_destroy(condition.step_list);
  return view;
}

}  // namespace pounce::slurm
