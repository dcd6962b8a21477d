// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs of the past as slurmdbd has them, a page at a time. Thread: main.
#include "model/accounting.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <vector>

#include "job/job_tag.h"
#include "pounce-slurm/database.h"
#include "pounce-slurm/facts.h"
#include "pounce-slurm/jobs.h"
#include "slurm/questions.h"

namespace pounce::slurm {
namespace {

constexpr std::uint32_t kCpu = 1, kMemory = 2, kEnergy = 3;  // ids of TRES that Slurm fixes
constexpr std::int64_t kYoung_s = 300;  // slurmctld may know a job of that age before or after slurmdbd does

// This database's ids of the figures in a record.
struct Names {
  std::map<std::uint32_t, std::string> qos, gpu_types;
  std::optional<std::uint32_t> gpu, gpu_use, gpu_memory;
};

Result<Names> load_names(const Database& database) {
  Names names;
  const auto stored = load_qos(database);
  if (!stored) return failure(stored.error());
  names.qos = stored->names;
  slurmdb_tres_cond_t condition{};
  slurmdb_init_tres_cond(&condition, false);
  errno = 0;
  const SlurmList list(slurmdb_tres_get(database.get(), &condition));
  if (!list) return failure(read_error());
  for_each<slurmdb_tres_rec_t>(list.get(), [&](const slurmdb_tres_rec_t& tres) {
    const std::string name = text(tres.name);
    if (text(tres.type) != "gres") return;
    if (name == "gpu") names.gpu = tres.id;
    if (name == "gpuutil") names.gpu_use = tres.id;
    if (name == "gpumem") names.gpu_memory = tres.id;
    if (name.starts_with("gpu:")) names.gpu_types[tres.id] = name.substr(4);
  });
  return names;
}

// The jobs that slurmctld knows now, and since when. Empty where it does not show all of them to this user.
struct KnownJobs {
  std::time_t at = 0;
  std::optional<std::set<std::uint32_t>> ids;
};

KnownJobs load_known_jobs() {
  KnownJobs known{std::time(nullptr), {}};
  const auto site = read_site();
  if (!site || (jobs_are_private() && ::geteuid() != 0 && ::geteuid() != site->slurm_user)) return known;
  const auto message = load_all_jobs();
  if (!message) return known;
  known.ids.emplace();
  for (std::uint32_t i = 0; i < (*message)->record_count; ++i)
    known.ids->insert(compat::job_id((*message)->job_array[i]));
  return known;
}

std::int64_t stamp(time_t value) { return value <= 0 || value >= static_cast<time_t>(NO_VAL) ? 0 : value; }

std::int64_t or_unknown(std::optional<std::uint64_t> count, std::uint64_t unit = 1) {
  return count && is_set(*count) ? static_cast<std::int64_t>(*count / unit) : -1;
}

// A long text would only fill the pages: names and command lines come from users.
std::string beginning(const char* maybe, std::size_t most) { return text(maybe).substr(0, most); }

// The command line tells srun and salloc from sbatch. A lease that a notebook holds keeps its GPUs as theirs do, and so
// does a portal's notebook, although Slurm sees a batch job.
std::string mode_of(const slurmdb_job_rec_t& record) {
  const std::string name = text(record.jobname), line = text(record.submit_line), comment = text(record.derived_es);
  if (job::tells_hold(comment)) return kReservation;
  if (job::parse_job_tag(comment) || name.starts_with("pounce-")) return kOffload;
  if (line.starts_with("srun") || line.starts_with("salloc")) return kReservation;
  for (const char* portal : {"spawner-", "jupyter", "sys/dashboard/"})
    if (name.starts_with(portal)) return kReservation;
  return kBatch;
}

// The typed counts are part of gres/gpu where that is recorded, never added to it.
void read_gpus(AccountedJob& job, const std::string& held, const Names& names) {
  std::uint64_t typed = 0;
  for (const auto& [id, type] : names.gpu_types)
    if (const auto count = tres_count(held, id); count && *count > 0) {
      job.gpu_types[type] = static_cast<std::uint32_t>(*count);
      typed += *count;
    }
  const auto all = names.gpu ? tres_count(held, *names.gpu) : std::nullopt;
  job.gpus = static_cast<std::uint32_t>(all.value_or(typed));
}

bool is_own_step(const slurmdb_step_rec_t& step) {  // not the batch script, nor what holds the job's place
  return step.step_id.step_id != SLURM_BATCH_SCRIPT && step.step_id.step_id != SLURM_EXTERN_CONT;
}

// Slurm measures steps: those that run side by side use other GPUs. A batch script has an entry of 0 whatever it does,
// so a 0 counts only where a step of srun was measured.
void read_steps(AccountedJob& job, const slurmdb_job_rec_t& record, const Names& names) {
  double busy_s = 0;
  bool is_measured = false;
  std::int64_t cpu_s = 0;
  for_each<slurmdb_step_rec_t>(record.steps, [&](const slurmdb_step_rec_t& step) {
    const std::string most = text(step.stats.tres_usage_in_max), all = text(step.stats.tres_usage_in_tot);
    cpu_s += static_cast<std::int64_t>(step.tot_cpu_sec);
    job.memory_peak_mib = std::max(job.memory_peak_mib, or_unknown(tres_count(most, kMemory), 1 << 20));
    if (names.gpu_memory)
      job.gpu_memory_mib = std::max(job.gpu_memory_mib, or_unknown(tres_count(most, *names.gpu_memory), 1 << 20));
    const auto percent = names.gpu_use ? tres_count(all, *names.gpu_use) : std::nullopt;
    if (!percent) return;
    is_measured = is_measured || *percent > 0 || is_own_step(step);
    busy_s += static_cast<double>(*percent) / 100 * step.elapsed;
  });
  if (record.steps != nullptr && slurm_list_count(record.steps) > 0) job.cpu_used_s = cpu_s;
  const double held_s = static_cast<double>(record.elapsed) * job.gpus;
  if (is_measured && held_s > 0) job.gpu_use_permille = std::lround(std::min(busy_s / held_s, 1.0) * 1000);
}

void read_comment(AccountedJob& job, const slurmdb_job_rec_t& record) {
  const std::string comment = text(record.derived_es);
  if (const auto tag = job::parse_job_tag(comment)) job.lease = tag->lease.hex();
  const std::int64_t end = job.end_s > 0 ? job.end_s : std::time(nullptr);
  const auto times = job::noted_times(comment, std::chrono::seconds(std::max<std::int64_t>(end - job.start_s, 0)));
  if (!times || job.start_s == 0) return;
  job.busy_s = times->busy.count(), job.idle_s = times->idle.count();
}

void read_times(AccountedJob& job, const slurmdb_job_rec_t& record) {
  job.submit_s = stamp(record.submit), job.eligible_s = stamp(record.eligible);
  job.start_s = stamp(record.start), job.end_s = stamp(record.end);
  if (job.start_s > 0) job.suspended_s = is_set(record.suspended) ? record.suspended : 0;
  if (is_set(record.timelimit)) job.limit_s = std::int64_t{60} * record.timelimit;
  job.state = text(slurm_job_state_string(record.state));
}

bool is_lost(const AccountedJob& job, std::uint32_t state, const KnownJobs& known) {
  const auto base = state & JOB_STATE_BASE;
  return job.end_s == 0 && job.start_s > 0 && (base == JOB_RUNNING || base == JOB_SUSPENDED) && known.ids &&
         job.start_s < known.at - kYoung_s && !known.ids->contains(job.job);
}

std::string class_of(const slurmdb_job_rec_t& record, const Names& names) {
  const auto qos = names.qos.find(record.qosid);
  return qos != names.qos.end() ? qos->second : "";
}

// Accounting has no name for the jobs of users without an association.
std::string owner_of(const slurmdb_job_rec_t& record) {
  if (const std::string user = text(record.user); !user.empty()) return user;
  slurm_job_info_t job{};
  job.user_id = record.uid;
  return user_of(job);
}

AccountedJob row_of(const slurmdb_job_rec_t& record, const Names& names, const KnownJobs& known) {
  constexpr std::size_t kName = 200, kLine = 1000, kNodes = 20000;
  const std::string held = text(record.tres_alloc_str), requested = text(record.tres_req_str);
  AccountedJob job;
  job.job = record.jobid, job.array_job = record.array_job_id, job.het_job = record.het_job_id;
  if (is_set(record.array_task_id))
    job.array_tasks = std::to_string(record.array_task_id);
  else
    job.array_tasks = beginning(record.array_task_str, kName);
  job.user = owner_of(record), job.account = text(record.account), job.wckey = text(record.wckey);
  job.class_name = class_of(record, names), job.partition = text(record.partition);
  job.name = beginning(record.jobname, kName), job.submit_line = beginning(record.submit_line, kLine);
  if (text(record.nodes) != "None assigned") job.nodes = beginning(record.nodes, kNodes);
  read_times(job, record);
  if (record.exitcode != NO_VAL) {
    const int status = static_cast<int>(record.exitcode);
    job.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    job.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  read_gpus(job, held, names);
  job.cpus = static_cast<std::uint32_t>(tres_count(held, kCpu).value_or(0));
  job.node_count = is_set(record.alloc_nodes) ? record.alloc_nodes : 0;
  job.gpus_requested = names.gpu ? static_cast<std::uint32_t>(tres_count(requested, *names.gpu).value_or(0)) : 0;
  job.cpus_requested = is_set(record.req_cpus) ? record.req_cpus : 0;
  job.memory_mib = or_unknown(tres_count(held, kMemory));
  job.energy_j = or_unknown(tres_count(held, kEnergy));
  job.mode = mode_of(record);
  read_comment(job, record);
  read_steps(job, record, names);
  job.lost = is_lost(job, record.state, known);
  return job;
}

// What slurmdbd answered to the last question, until its last page is taken.
struct Window {
  AskJobs question{};
  Names names{};
  KnownJobs known{};
  std::vector<SlurmList> lists{};
  std::vector<const slurmdb_job_rec_t*> records{};  // in `lists`, by their number in the database

  bool is_of(const AskJobs& other) const {
    return !lists.empty() && question.from_s == other.from_s && question.to_s == other.to_s &&
           question.steps == other.steps;
  }
};

// Jobs with their whole times (NO_TRUNC) and each of their runs (DUP): those that waited, ran or ended between from_s
// and to_s or, of these, the ones with these numbers.
Result<SlurmList> load_records(const Database& database, const AskJobs& question, const std::string& cluster,
                               const std::set<std::uint32_t>& numbers = {}) {
  slurmdb_job_cond_t condition;
  std::memset(&condition, 0, sizeof condition);
  condition.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC | (question.steps ? 0 : JOBCOND_FLAG_NO_STEP);
  condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;
  condition.usage_start = question.from_s;
  condition.usage_end = question.to_s;
  const std::vector<std::string> clusters = {cluster};
  const auto only = list_of(clusters);
  condition.cluster_list = only.get();
  std::vector<slurm_selected_step_t> selected(numbers.size());
  const SlurmList chosen(slurm_list_create(nullptr));
  auto next = numbers.begin();
  for (slurm_selected_step_t& one : selected) {
    std::memset(&one, 0, sizeof one);
    one.array_task_id = one.het_job_offset = NO_VAL;
    one.step_id.job_id = *next++;
    one.step_id.step_id = one.step_id.step_het_comp = NO_VAL;
    slurm_list_append(chosen.get(), &one);
  }
  if (!numbers.empty()) condition.step_list = chosen.get();
  errno = 0;
  SlurmList records(slurmdb_jobs_get(database.get(), &condition));
  if (!records) return failure(read_error());
  return records;
}

// What stays the same from one window to the next. An admin may make a QoS while a year is read.
struct Known {
  std::string cluster;
  Names names;
  std::chrono::steady_clock::time_point until;
};

Result<const Known*> known_of(const Database& database) {
  static Known known;
  const auto now = std::chrono::steady_clock::now();
  if (now < known.until) return &known;
  const auto site = read_site();
  if (!site) return failure(site.error());
  auto names = load_names(database);
  if (!names) return failure(names.error());
  known = {site->cluster, std::move(*names), now + std::chrono::minutes(1)};
  return &known;
}

// Of a job that ran before or after the window slurmdbd gives only the steps of the window.
bool lacks_steps(const slurmdb_job_rec_t& record, const AskJobs& question) {
  const std::int64_t start = stamp(record.start), end = stamp(record.end);
  return question.steps && start > 0 && (start < question.from_s || end == 0 || end > question.to_s);
}

// Reads those jobs again with all their steps, some hundreds at a time.
Result<void> complete_steps(const Database& database, const std::string& cluster, Window& window) {
  constexpr std::size_t kAtOnce = 500;
  std::map<std::uint64_t, std::size_t> places;
  std::set<std::uint32_t> numbers;
  AskJobs whole = window.question;
  const auto read = [&]() -> Result<void> {
    auto records = load_records(database, whole, cluster, numbers);
    if (!records) return failure(records.error());
    for_each<slurmdb_job_rec_t>(records->get(), [&](const slurmdb_job_rec_t& record) {
      if (const auto place = places.find(record.db_index); place != places.end())
        window.records[place->second] = &record;
    });
    window.lists.push_back(std::move(*records));
    numbers.clear(), places.clear(), whole = window.question;
    return {};
  };
  for (std::size_t place = 0; place < window.records.size(); ++place) {
    const slurmdb_job_rec_t& record = *window.records[place];
    if (!lacks_steps(record, window.question)) continue;
    numbers.insert(record.jobid);
    places[record.db_index] = place;
    whole.from_s = std::min<std::int64_t>(whole.from_s, record.start);
    whole.to_s = std::max<std::int64_t>({whole.to_s, stamp(record.end), std::time(nullptr)});
    if (numbers.size() < kAtOnce) continue;
    if (const auto done = read(); !done) return done;
  }
  return numbers.empty() ? Result<void>() : read();
}

Result<Window> load_window(const AskJobs& question) {
  const Database database;
  const auto known = known_of(database);
  if (!known) return failure(known.error());
  auto records = load_records(database, question, (*known)->cluster);
  if (!records) return failure(records.error());
  Window window{question, (*known)->names};
  bool open = false;
  for_each<slurmdb_job_rec_t>(records->get(), [&](const slurmdb_job_rec_t& record) {
    window.records.push_back(&record);
    open = open || (stamp(record.end) == 0 && stamp(record.start) > 0);
  });
  window.lists.push_back(std::move(*records));
  std::ranges::sort(window.records, {}, &slurmdb_job_rec_t::db_index);
  if (const auto completed = complete_steps(database, (*known)->cluster, window); !completed)
    return failure(completed.error());
  if (open) window.known = load_known_jobs();
  return window;
}

std::size_t bytes_of(const AccountedJob& job) {
  constexpr std::size_t kRest = 1200;
  return kRest + job.name.size() + job.submit_line.size() + job.nodes.size();
}

}  // namespace

// slurmdbd answers a whole window at once. What does not fit into this page is kept for the next question; if this
// process ends before it, the next one reads the window again and goes on behind `after`.
Result<AccountedPage> answer(const AskJobs& question) {
  constexpr std::size_t kJobs = 2000, kBytes = 6 << 20;
  static Window window{};
  if (!window.is_of(question)) {
    window = Window{};
    auto loaded = load_window(question);
    if (!loaded) return failure(loaded.error());
    window = std::move(*loaded);
  }
  AccountedPage page;
  page.last = question.after;
  auto next = std::ranges::upper_bound(window.records, question.after, {}, &slurmdb_job_rec_t::db_index);
  for (std::size_t bytes = 0; next != window.records.end() && page.jobs.size() < kJobs && bytes < kBytes; ++next) {
    page.jobs.push_back(row_of(**next, window.names, window.known));
    page.last = (*next)->db_index;
    bytes += bytes_of(page.jobs.back());
  }
  page.more = next != window.records.end();
  if (!page.more) window = Window{};
  return page;
}

}  // namespace pounce::slurm
