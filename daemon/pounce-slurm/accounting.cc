// SPDX-License-Identifier: GPL-3.0-or-later
// The past use of jobs, from slurmdbd. Thread: main.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <tuple>

#include "job/job_tag.h"
#include "pounce-slurm/database.h"
#include "pounce-slurm/facts.h"
#include "slurm/questions.h"

namespace pounce::slurm {
namespace {

// This database's ids of the figures in a record.
struct Names {
  std::map<std::uint32_t, std::string> qos;
  std::optional<std::uint32_t> gpu, gpu_use;
};

Result<Names> load_names(const Database& database) {
  Names names;
  const auto stored = load_qos(database);
  if (!stored) return failure(stored.error());
  names.qos = stored->names;
  for (const auto& [name, id] : {std::pair{"gpu", &names.gpu}, std::pair{"gpuutil", &names.gpu_use}}) {
    const auto found = gres_tres(database, name);
    if (!found) return failure(found.error());
    *id = *found;
  }
  return names;
}

bool begins(const std::string& text, const char* with) { return text.starts_with(with); }

// The command line tells srun and salloc from sbatch. A lease that a notebook holds keeps its GPUs as theirs do, and so
// does a portal's notebook, although Slurm sees a batch job.
std::string mode_of(const slurmdb_job_rec_t& record) {
  const std::string name = text(record.jobname), line = text(record.submit_line);
  if (job::tells_hold(text(record.derived_es))) return kReservation;
  if (job::parse_job_tag(text(record.derived_es)) || begins(name, "pounce-")) return kOffload;
  if (begins(line, "srun") || begins(line, "salloc")) return kReservation;
  for (const char* portal : {"spawner-", "jupyter", "sys/dashboard/"})
    if (begins(name, portal)) return kReservation;
  return kBatch;
}

// The run time between from_s, or its later start, and to_s.
std::int64_t ran_s(const slurmdb_job_rec_t& record, std::int64_t from_s, std::int64_t to_s) {
  const auto unset = [](time_t stamp) { return stamp <= 0 || stamp >= static_cast<time_t>(NO_VAL); };
  if (unset(record.start)) return 0;
  const std::int64_t end = unset(record.end) ? to_s : std::min<std::int64_t>(record.end, to_s);
  return std::max<std::int64_t>(end - std::max<std::int64_t>(record.start, from_s), 0);
}

// The run time within the queried span.
double seconds_of(const slurmdb_job_rec_t& record, const UsageFacts& facts) {
  return static_cast<double>(ran_s(record, facts.from_s, facts.to_s));
}

// The mean use of its GPUs that Slurm has measured with NVML, 0 to 1: the highest of its steps.
std::optional<double> counted_use(const slurmdb_job_rec_t& record, std::uint32_t id) {
  std::optional<double> use;
  for_each<slurmdb_step_rec_t>(record.steps, [&](const slurmdb_step_rec_t& step) {
    if (const auto percent = tres_count(text(step.stats.tres_usage_in_ave), id))
      use = std::max(use.value_or(0), std::min(static_cast<double>(*percent) / 100, 1.0));
  });
  return use;
}

// some: Slurm has measured the GPU use of some job. not_all: the GPU use of some job is unknown.
struct Measured {
  bool some = false, not_all = false;
};

void add(UsedShare& share, const slurmdb_job_rec_t& record, const Names& names, const UsageFacts& facts,
         Measured& measured) {
  constexpr std::uint32_t kCpu = 1;  // fixed by Slurm
  const std::string held = text(record.tres_alloc_str);
  const double seconds = seconds_of(record, facts);
  const double gpu_s = seconds * static_cast<double>(names.gpu ? tres_count(held, *names.gpu).value_or(0) : 0);
  ++share.jobs;
  share.gpu_s += gpu_s;
  share.cpu_s += seconds * static_cast<double>(tres_count(held, kCpu).value_or(0));
  // A lease reports its busy time itself; the warm time is computed from it.
  auto use = job::busy_part(text(record.derived_es), std::chrono::seconds(ran_s(record, 0, facts.to_s)));
  if (use) share.said_s += gpu_s;
  if (!use && names.gpu_use) {
    use = counted_use(record, *names.gpu_use);
    measured.some = measured.some || use;
  }
  if (!use) {
    measured.not_all = measured.not_all || gpu_s > 0;
    return;
  }
  share.told_s += gpu_s;
  share.busy_s += gpu_s * *use;
}

Result<void> read_jobs(const Database& database, const Names& names, UsageFacts& facts) {
  slurmdb_job_cond_t condition;
  std::memset(&condition, 0, sizeof condition);
  condition.flags = JOBCOND_FLAG_DUP | (names.gpu_use ? 0 : JOBCOND_FLAG_NO_STEP);
  condition.db_flags = SLURMDB_JOB_FLAG_NOTSET;
  condition.usage_start = facts.from_s;
  condition.usage_end = facts.to_s;
  const std::vector<std::string> clusters = {facts.cluster};
  const auto only = list_of(clusters);
  condition.cluster_list = only.get();
  errno = 0;
  const SlurmList records(slurmdb_jobs_get(database.get(), &condition));
  if (!records) return failure(read_error());
  bool offloads = false, keeps = false;
  Measured measured;
  std::map<std::tuple<std::string, std::string, std::string>, UsedShare> shares;
  for_each<slurmdb_job_rec_t>(records.get(), [&](const slurmdb_job_rec_t& record) {
    if (seconds_of(record, facts) == 0) return;
    const auto qos = names.qos.find(record.qosid);
    const std::string class_name = qos != names.qos.end() ? qos->second : "";
    const std::string user = text(record.user), mode = mode_of(record);
    UsedShare& share = shares[{user, class_name, mode}];
    share.user = user, share.class_name = class_name, share.mode = mode;
    add(share, record, names, facts, measured);
    offloads = offloads || mode == kOffload;
    keeps = keeps || job::parse_job_tag(text(record.derived_es));
  });
  facts.keeps_comments = keeps || !offloads;
  // Newer Slurms (25.11) have gres/gpuutil by default, but without NVML they measure nothing.
  facts.counts_gpu_use = names.gpu_use && (measured.some || !measured.not_all);
  for (auto& [key, share] : shares) facts.shares.push_back(std::move(share));
  return {};
}

}  // namespace

Result<UsageFacts> answer(const AskUsage& question) {
  const auto site = read_site();
  if (!site) return failure(site.error());
  UsageFacts facts;
  facts.cluster = site->cluster;
  facts.from_s = question.from_s;
  facts.to_s = std::time(nullptr);
  facts.has_database = site->accounting_type == "accounting_storage/slurmdbd";
  facts.counts_gpus = site->accounting_tres.find("gres/gpu") != std::string::npos;
  if (!facts.has_database) return facts;
  const Database database;
  const auto names = load_names(database);
  if (!names) return failure(names.error());
  if (const auto read = read_jobs(database, *names, facts); !read) return failure(read.error());
  return facts;
}

}  // namespace pounce::slurm
