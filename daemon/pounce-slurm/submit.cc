// SPDX-License-Identifier: GPL-3.0-or-later
// Submits a lease as a batch job, cancels it, and writes its outcome into the job's comment. Thread: main.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "job/job_tag.h"
#include "job/request_bounds.h"
#include "messages/waiting_words.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/jobs.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/refusal.h"
#include "sbatch_options.h"
#include "slurm/questions.h"
#include "slurm_compat.h"

namespace pounce::slurm {
namespace {

// Slurm signals the batch process, which exec has made the supervisor, a minute before the end. SIGUSR2, because
// Lightning would requeue the job on SIGUSR1; user code sees neither.
constexpr std::uint16_t kWarnSignal = SIGUSR2, kWarnSeconds = 60;

// Guaranteed by the bounds of a request (pounce/resources.h): no value below is truncated or has a special meaning.
static_assert(kMostCpus < NO_VAL16 && kMostTime.count() < NO_VAL && (kMostMemoryMib & MEM_PER_CPU) == 0);

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// exec makes the supervisor the batch process, so that Slurm's signals reach it. The trap keeps the warning from
// ending it before it has a handler: with a walltime of a minute or two Slurm warns at once.
// The site's lines follow the trap and may end the job: a worker is useless without their setup.
std::string batch_script(const JobSpec& spec) {
  std::string script = "#!/bin/sh\ntrap '' USR2\n";
  if (!spec.prologue.empty()) script += spec.prologue + "\n";
  script += "exec";
  for (const std::string& word : spec.command) script += " " + quoted(word);
  return script + "\n";
}

std::string gres(const Resources& resources) {
  if (resources.node_gpus() == 0) return {};
  const std::string type = resources.gpu_type.empty() ? "" : resources.gpu_type + ":";
  return compat::gres_prefix() + type + std::to_string(resources.node_gpus());
}

std::vector<std::string> settings(const JobSpec& spec) {
  std::vector<std::string> list;
  for (const auto& [name, value] : spec.environment) list.push_back(name + "=" + value);
  list.push_back("SLURM_JOB_NAME=" + spec.name);  // sbatch writes it, slurmctld does not
  return list;
}

struct FreeResponse {
  void operator()(submit_response_msg_t* response) const { slurm_free_submit_response_response_msg(response); }
};

// libslurm neither frees nor keeps what the description points to: this class owns the strings.
struct Description {
  explicit Description(const JobSpec& spec);

  job_desc_msg_t message;
  std::string script, comment, tres, name, qos, partition, directory, log;
  std::string input = "/dev/null";
  std::map<std::string, std::string> options;
  Result<void> passed_on;  // the result of applying them
  std::vector<std::string> environment;
  std::vector<char*> environment_pointers;
};

Description::Description(const JobSpec& spec)
    : script(batch_script(spec)),
      comment(job::format_job_tag({spec.instance, spec.lease})),
      tres(gres(spec.resources)),
      name(spec.name),
      qos(qos_of(spec)),
      partition(spec.partition),
      directory(spec.directory),
      log(spec.log_path),
      options(sbatch_options(spec.resources)),
      environment(settings(spec)) {
  slurm_init_job_desc_msg(&message);
  // Sets both always: without the group a root caller's job would run with root's group (gotchas S6).
  message.user_id = ::geteuid();
  message.group_id = ::getegid();
  for (std::string& setting : environment) environment_pointers.push_back(setting.data());
  message.environment = environment_pointers.data();
  message.env_size = static_cast<std::uint32_t>(environment_pointers.size());
  message.script = script.data();
  message.name = name.data();
  message.comment = comment.data();  // never `extra`: on 22.05 it crashes slurmctld (§0.3)
  message.work_dir = directory.data();
  message.std_out = log.data();
  message.std_err = log.data();
  message.std_in = input.data();
  passed_on = apply_sbatch_options(options, message);
  if (!qos.empty()) message.qos = qos.data();
  if (!partition.empty()) message.partition = partition.data();
  if (!tres.empty()) message.tres_per_node = tres.data();
  message.min_nodes = message.max_nodes = spec.resources.nodes;
  if (spec.resources.nodes > 1) message.ntasks_per_node = static_cast<std::uint16_t>(spec.resources.workers_of_node());
  message.num_tasks = spec.resources.workers;  // a worker is a task to Slurm, which counts CPUs per task
  message.bitflags |= JOB_NTASKS_SET;
  if (spec.resources.cpus > 0) {
    message.cpus_per_task = static_cast<std::uint16_t>(spec.resources.cpus);
    message.bitflags |= JOB_CPUS_SET;
  }
  if (spec.resources.workers > 1 || spec.resources.cpus > 0)
    message.min_cpus = std::max(spec.resources.workers, static_cast<std::uint32_t>(spec.resources.all_cpus()));
  if (spec.resources.memory_mib > 0) message.pn_min_memory = spec.resources.node_memory_mib();
  if (spec.resources.time.count() > 0) message.time_limit = static_cast<std::uint32_t>(spec.resources.time.count());
  message.requeue = 0;
  message.warn_signal = kWarnSignal;
  message.warn_time = kWarnSeconds;
  message.warn_flags = KILL_JOB_BATCH;
}

// Slurm accepts some requests that it will never start, with a warning or with a permanent reason to wait (gotchas
// S7). Reasons that depend on other jobs are not permanent.
bool waits_for_ever(const JobView& job) {
  if (job.state != JobState::kQueued) return false;
  for (const char* reason : {"PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints",
                             "InvalidQOS", "InvalidAccount"})
    if (job.reason_word == reason) return true;
  // Max… and Min…, not Grp….
  const bool limit = job.reason_word.starts_with("QOSM") || job.reason_word.starts_with("AssocM");
  return limit && (job.reason_word.find("PerJob") != std::string::npos ||
                   job.reason_word.find("PerNode") != std::string::npos || job.reason_word.starts_with("QOSMin"));
}

// A QoS limit may be of the partition's QoS; Slurm does not say of which.
std::string beside_the_class(const JobView& job, const JobSpec& spec) {
  if (!job.reason_word.starts_with("QOS")) return {};
  const std::string qos = qos_of_partition(spec);
  return qos.empty() ? "" : "; or QoS " + qos + " of its partition does not";
}

Result<JobIdentity> never(SlurmJobId job, const std::string& why, const JobSpec& spec) {
  Error error{ErrorCode::kUnsatisfiable, "Slurm would never start it (" + why + ")", {}, {}};
  // A job left in the queue would count against the user's limits. If this fails, the reconciliation cancels it.
  if (const auto done = answer(Cancel{{job, 0, 0}}); !done) error.context["cancel"] = done.error().text;
  return failure(explained(std::move(error), 0, spec));
}

Result<JobIdentity> checked(SlurmJobId job, std::uint32_t warning, const JobSpec& spec) {
  if (warning == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE)
    return never(job, slurm_strerror(static_cast<int>(warning)), spec);
  // The submit time completes the job's identity. If this read fails, the next poll or reconciliation brings it.
  const auto seen = load_one(job);
  if (!seen || seen->empty()) return JobIdentity{job, 0, 0};
  if (waits_for_ever(seen->front()))
    return never(job,
                 seen->front().reason + ": " + messages::waiting_words(job::waiting_of(seen->front())) +
                     beside_the_class(seen->front(), spec),
                 spec);
  return seen->front().job_identity;
}

}  // namespace

Result<JobIdentity> answer(const Submit& question) {
  const JobSpec& spec = question.spec;
  if (const auto fits = job::check_bounds(spec.resources); !fits) return failure(fits.error());
  if (const auto possible = check_limits(spec); !possible) return failure(possible.error());
  if (const auto known = check_account(spec); !known) return failure(known.error());
  Description description(spec);
  if (!description.passed_on) return failure(description.passed_on.error());
  submit_response_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_submit_batch_job(&description.message, &raw));
  const std::unique_ptr<submit_response_msg_t, FreeResponse> response(raw);
  if (code != 0) return failure(explained(slurm_error(code, Doing::kSubmitting), code, spec));
  return checked({compat::job_id(*response)}, response->error_code, spec);
}

Result<Done> answer(const Cancel& question) {
  const std::string id = std::to_string(question.job.job.value);
  const int code = slurm_code(slurm_kill_job2(id.c_str(), SIGKILL, 0, nullptr));
  if (code == 0 || code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE) return Done{};
  return failure(slurm_error(code, Doing::kCancelling));
}

Result<Done> answer(const Note& question) {
  std::string words = question.comment;
  job_desc_msg_t change;
  slurm_init_job_desc_msg(&change);
  compat::set_job_id(change, question.job.job.value);
  change.comment = words.data();
  const int code = slurm_code(slurm_update_job(&change));
  if (code == 0 || code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE || code == ESLURM_JOB_FINISHED)
    return Done{};
  return failure(slurm_error(code, Doing::kCancelling));
}

}  // namespace pounce::slurm
