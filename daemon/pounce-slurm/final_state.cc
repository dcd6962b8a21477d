// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/unique_fd.h"
#include "pounce-slurm/jobs.h"
#include "pounce-slurm/libslurm_values.h"
#include "slurm/slurm_values.h"
#include "slurm/wire.h"

namespace pounce::slurm {
namespace {

constexpr unsigned kAccountingSeconds = 8;
constexpr int kLooks = 5;  // retries for a record that slurmctld may be about to send
constexpr useconds_t kBetweenLooks = 200'000;
constexpr std::int64_t kRecordComesSeconds = 20;
constexpr std::uint32_t kRoot = 0;

// A connection to slurmdbd.
class Accounting {
 public:
  Accounting() {
    std::uint16_t flags = 0;
    errno = 0;
    connection_ = slurmdb_connection_get(&flags);
    // Not NULL even if slurmdbd is down: errno tells (gotchas S5).
    good_ = connection_ != nullptr && errno == 0;
  }
  ~Accounting() {
    if (connection_ != nullptr) slurmdb_connection_close(&connection_);
  }
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;
  explicit operator bool() const { return good_; }
  void* get() const { return connection_; }

 private:
  void* connection_ = nullptr;
  bool good_ = false;
};

// Slurm reuses job numbers: only a record with the same submit time, if known, is of this job.
bool tells_end_of(const slurmdb_job_rec_t& record, const JobView& view) {
  const std::int64_t submitted = view.job_identity.submit_time_s;
  return map_job_state(record.state).state == JobState::kEnded && (submitted == 0 || record.submit == submitted);
}

void take_end(const slurmdb_job_rec_t& record, JobView& view) {
  view.end = map_job_state(record.state).end;
  view.raw_state = record.state;
  if (const char* word = slurm_job_state_string(record.state)) view.state_name = word;
  view.start_time_s = time_or_zero(record.start);
  view.end_time_s = time_or_zero(record.end);
  view.exit_code = static_cast<int>((record.exitcode >> 8) & 0xff);
  view.signal = static_cast<int>(record.exitcode & 0x7f);
  const std::string nodes = record.nodes != nullptr ? record.nodes : "";
  if (nodes != "None assigned") view.nodes = nodes;
}

void read_canceller(const slurmdb_job_rec_t& record, JobView& view) {
  if (record.requid == kRoot) view.end = JobEnd::kNotStarted;
}

// slurmctld has not sent the record of its end yet, so it is not known who cancelled it. The job counts as ending, and
// the next poll looks again, for a while.
void await_record(JobView& view) {
  if (::time(nullptr) - view.end_time_s >= kRecordComesSeconds) return;
  view.state = JobState::kEnding;
  view.end = JobEnd::kNone;
}

struct Reading {
  void (*read)(const slurmdb_job_rec_t& record, JobView& view);
  void (*missing)(JobView& view) = [](JobView&) {};  // slurmdbd has no record of the job's end, or no answer in time
  int looks = 1;
};

// Returns false if there is no record of its end.
bool ask(const Accounting& accounting, JobView& view, const Reading& reading) {
  bool found = false;
  slurm_selected_step_t step;
  std::memset(&step, 0, sizeof step);
  step.array_task_id = step.het_job_offset = NO_VAL;
  step.step_id.job_id = view.job_identity.job.value;
  step.step_id.step_id = step.step_id.step_het_comp = NO_VAL;
  slurmdb_job_cond_t condition;
  std::memset(&condition, 0, sizeof condition);
  condition.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_STEP;
  condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;  // zero would match only jobs without any flag: none
  condition.step_list = slurm_list_create(nullptr);
  slurm_list_append(condition.step_list, &step);
  if (auto* records = slurmdb_jobs_get(accounting.get(), &condition)) {
    for_each<slurmdb_job_rec_t>(records, [&](const slurmdb_job_rec_t& record) {
      if (!tells_end_of(record, view)) return;
      found = true;
      reading.read(record, view);
    });
    slurm_list_destroy(records);
  }
  slurm_list_destroy(condition.step_list);
  return found;
}

bool look(const Accounting& accounting, JobView& view, const Reading& reading) {
  for (int look = 1; !ask(accounting, view, reading); ++look) {
    if (look == reading.looks) return false;
    ::usleep(kBetweenLooks);
  }
  return true;
}

int ask_and_write(std::vector<JobView> views, const Reading& reading, int to) {
  ::alarm(kAccountingSeconds);
  {
    const Accounting accounting;
    for (JobView& view : views)
      if (accounting && !look(accounting, view, reading)) reading.missing(view);
  }
  const std::string record = encode({0, std::any(std::move(views))}, Poll{});
  for (std::string_view left = record; !left.empty();) {
    const ssize_t n = ::write(to, left.data(), left.size());
    if (n <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string read_all(int from) {
  std::string record;
  char buffer[16384];
  while (true) {
    const ssize_t n = ::read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return record;
    record.append(buffer, static_cast<std::size_t>(n));
  }
}

// nullopt: there is no answer. Queries in a child, since slurmdbd's connection has no timeout and libslurm calls exit()
// on its fatal errors.
std::optional<std::vector<JobView>> answer_for(const std::vector<JobView>& views, const Reading& reading) {
  auto pipe = make_pipe();
  if (!pipe) return std::nullopt;
  const auto child =
      start_function(Standing::kOurs, SIGKILL, [&] { return ask_and_write(views, reading, pipe->writer.get()); });
  pipe->writer.reset();
  if (!child) return std::nullopt;
  const std::string record = read_all(pipe->reader.get());
  wait_for(*child);
  auto answer = decode_answer(record, Poll{});
  if (!answer || !answer->value) return std::nullopt;
  auto known = std::any_cast<std::vector<JobView>>(*std::move(answer->value));
  return known.size() == views.size() ? std::optional(std::move(known)) : std::nullopt;
}

std::vector<JobView> looked_up(std::vector<JobView> views, const Reading& reading) {
  if (views.empty()) return views;
  if (auto answer = answer_for(views, reading)) return *std::move(answer);
  std::ranges::for_each(views, reading.missing);
  return views;
}

}  // namespace

std::vector<JobView> final_states(const std::vector<JobIdentity>& jobs) {
  std::vector<JobView> views;
  for (const JobIdentity& job : jobs) views.push_back(gone_job(job));
  return looked_up(views, {.read = take_end});
}

void tell_not_started(std::vector<JobView>& views, const std::vector<SlurmJobId>& unheard) {
  std::vector<JobView> cancelled;
  // A job that was waiting has no nodes (gotchas S19): its cancellation was a user's wish.
  std::ranges::copy_if(views, std::back_inserter(cancelled), [&](const JobView& view) {
    return view.end == JobEnd::kCancelled && !view.nodes.empty() &&
           std::ranges::count(unheard, view.job_identity.job) > 0;
  });
  for (const JobView& known : looked_up(cancelled, {read_canceller, await_record, kLooks}))
    for (JobView& view : views)
      if (view.job_identity == known.job_identity) view = known;
}

}  // namespace pounce::slurm
