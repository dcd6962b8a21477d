// SPDX-License-Identifier: GPL-3.0-or-later
#include "submit.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/job_tag.h"
#include "facts.h"
#include "job_views.h"
#include "slurm_compat.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

// A minute before the end Slurm tells the batch shell, which exec has made the supervisor. SIGUSR2: Lightning would
// requeue the job on SIGUSR1, and user code never sees either (design §2).
constexpr std::uint16_t kWarnSignal = SIGUSR2, kWarnSeconds = 60;

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// exec: the supervisor itself is the batch process, so that Slurm's signals reach it.
std::string batch_script(const std::vector<std::string>& command) {
  std::string script = "#!/bin/sh\nexec";
  for (const std::string& word : command) script += " " + quoted(word);
  return script + "\n";
}

std::string gres(const Resources& resources) {
  if (resources.gpus == 0) return {};
  const std::string type = resources.gpu_type.empty() ? "" : resources.gpu_type + ":";
  return compat::gres_prefix() + type + std::to_string(resources.gpus);
}

std::vector<std::string> settings(const JobSpec& spec) {
  std::vector<std::string> list;
  for (const auto& [name, value] : spec.environment) list.push_back(name + "=" + value);
  return list;
}

struct FreeResponse {
  void operator()(submit_response_msg_t* response) const { slurm_free_submit_response_response_msg(response); }
};

// libslurm neither frees nor keeps what the description points to: everything lives in the caller's strings.
struct Description {
  explicit Description(const JobSpec& spec);

  job_desc_msg_t message;
  std::string script, comment, tres, name, qos, directory, log, input = "/dev/null";
  std::vector<std::string> environment;
  std::vector<char*> environment_pointers;
};

Description::Description(const JobSpec& spec)
    : script(batch_script(spec.command)),
      comment(format_job_tag({spec.instance, spec.lease})),
      tres(gres(spec.resources)),
      name(spec.name),
      qos(spec.resources.class_name),
      directory(spec.directory),
      log(spec.log_path),
      environment(settings(spec)) {
  slurm_init_job_desc_msg(&message);
  // Both, always: unset, a root caller's job would run with root's group (libslurm.md §0.4).
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
  if (!qos.empty()) message.qos = qos.data();
  if (!tres.empty()) message.tres_per_node = tres.data();
  message.min_nodes = message.max_nodes = 1;
  message.num_tasks = 1;
  message.bitflags |= JOB_NTASKS_SET;
  if (spec.resources.cpus > 0) {
    message.cpus_per_task = static_cast<std::uint16_t>(spec.resources.cpus);
    message.min_cpus = spec.resources.cpus;
    message.bitflags |= JOB_CPUS_SET;
  }
  if (spec.resources.memory_mib > 0) message.pn_min_memory = spec.resources.memory_mib;
  if (spec.resources.time.count() > 0) message.time_limit = static_cast<std::uint32_t>(spec.resources.time.count());
  message.requeue = 0;
  message.warn_signal = kWarnSignal;
  message.warn_time = kWarnSeconds;
  message.warn_flags = KILL_JOB_BATCH;
}

// Slurm accepts some requests that no node can ever serve, with a warning; they would wait for ever.
Result<Incarnation> checked(SlurmJobId job, std::uint32_t warning) {
  if (warning == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE) {
    static_cast<void>(cancel({job, 0, 0}));
    return failure(slurm_error(ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, Doing::kSubmitting));
  }
  // The submit time completes the job's identity. If this look fails, the next poll or sweep brings it.
  const auto seen = load_one(job);
  return seen && !seen->empty() ? seen->front().incarnation : Incarnation{job, 0, 0};
}

}  // namespace

Result<Incarnation> submit(const JobSpec& spec) {
  Description description(spec);
  submit_response_msg_t* raw = nullptr;
  const int code = slurm_code(slurm_submit_batch_job(&description.message, &raw));
  const std::unique_ptr<submit_response_msg_t, FreeResponse> response(raw);
  if (code != 0) return failure(explained(slurm_error(code, Doing::kSubmitting), spec.resources));
  return checked({compat::job_id(*response)}, response->error_code);
}

Result<void> cancel(const Incarnation& job) {
  const std::string id = std::to_string(job.job.value);
  const int code = slurm_code(slurm_kill_job2(id.c_str(), SIGKILL, 0, nullptr));
  if (code == 0 || code == ESLURM_INVALID_JOB_ID || code == ESLURM_ALREADY_DONE) return {};
  return failure(slurm_error(code, Doing::kCancelling));
}

}  // namespace pounce::slurm
