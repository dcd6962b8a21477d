// How a supervisor treats its worker's GPUs: it reports them, admits no client to an interpreter that sees other GPUs
// than the lease's, and ends when one has failed. The meter's thread calls the driver; a driver that does not answer
// delays nothing, and its GPUs stay unknown.
#include <signal.h>

#include "base/log.h"
#include "worker/supervisor/interpreter.h"
#include "worker/supervisor/leased_gpus.h"
#include "worker/supervisor/process_tree.h"
#include "worker/supervisor/supervisor.h"

namespace pounce::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto kDriverAnswers = 3s;  // limit for the driver to say which GPUs another list names
constexpr auto kDiesOfKill = 2s;     // a process that hangs in the driver of a failed GPU does not die
constexpr int kKilled = SIGKILL;     // the wait status of a process that SIGKILL ended

}  // namespace

void Supervisor::watch_gpus() {
  if (facts_.visible_gpus.empty()) return;
  loop_.watch_fd(gpu_meter_.event_fd(), [this] {
    gpu_meter_.hear();
    on_gpu_news();
  });
}

void Supervisor::on_gpu_news() {
  tell_gpus();  // a failed GPU is reported before the death: pounced asks for the next lease elsewhere
  if (const auto failures = gpu_meter_.failures(); !failures.empty()) {
    return end_unfit(failures.front().error, failures.front().name);
  }
  if (const auto answer = gpu_meter_.uuids(); answer && unannounced_) {
    if (const auto same = same_gpus(*answer, unannounced_->listed); !same) return end_unfit(same.error());
    announce();
  }
}

// The same list means the same GPUs. With another list no client is admitted before the driver has said which GPUs it
// names.
void Supervisor::announce_if_leased() {
  const auto visible = facts_.visible_gpus.empty() ? std::nullopt : visible_to(interpreter_->pid());
  if (!visible || visible->list == facts_.visible_gpus) return announce();
  spdlog::warn("lease={} epoch={} the interpreter sees other GPUs: CUDA_VISIBLE_DEVICES is '{}', not '{}'",
               options_.lease.hex(), epoch_.value, visible->list.value_or("(not set)"), facts_.visible_gpus);
  unannounced_ = Unannounced{epoch_, visible->list.has_value()};
  gpu_meter_.ask_uuids(visible->list);
  loop_.at(Clock::now() + kDriverAnswers, [this, epoch = epoch_] {
    if (unannounced_ && unannounced_->epoch == epoch) announce();
  });
}

// Reads the page twice, since the interpreter may be writing it.
void Supervisor::note_task() {
  if (facts_.visible_gpus.empty()) return;
  std::optional<TaskId> running;
  if (interpreter_ && running_ > 0) running = interpreter_->page().running();
  if (interpreter_ && running_ > 0 && running != interpreter_->page().running()) return;
  gpu_meter_.set_task(running ? running->hex() : "");
}

void Supervisor::tell_gpus() {
  const auto facts = gpu_meter_.facts();
  if (!facts || !daemon_ || !daemon_->connected()) return;
  protocol::WorkerGpus gpus{options_.lease,
                            options_.worker,
                            facts_.node,
                            gpu_rows(*facts, gpu_meter_.failures()),
                            word(gpu_meter_.storage()),
                            {}};
  for (const device::TaskUse& one : gpu_meter_.tasks())
    gpus.tasks.push_back({one.task, one.use.percent, one.use.memory_mib});
  if (gpus.gpus == told_gpus_.gpus && gpus.tasks == told_gpus_.tasks) return;
  daemon_->send(gpus);
  told_gpus_ = std::move(gpus);
}

// Ends the worker: no interpreter can use these GPUs.
void Supervisor::end_unfit(const Error& why, const std::string& failed_gpu) {
  if (ending_ || unfit_) return;
  spdlog::error("lease={} {}", options_.lease.hex(), why.text);
  unfit_ = why;
  failed_gpu_ = failed_gpu;
  unfit_->context["node"] = facts_.node;
  unannounced_.reset();
  if (!interpreter_) {
    untold_.push_back({options_.lease, options_.worker, epoch_, *unfit_, false, {.failed_gpu = failed_gpu_}});
    tell_deaths();
    return end(why.text);
  }
  signal_descendants(::getpid(), SIGKILL);
  loop_.at(Clock::now() + kDiesOfKill, [this] {
    if (interpreter_ && !ending_) report_death(kKilled, {});
  });
}

}  // namespace pounce::worker
