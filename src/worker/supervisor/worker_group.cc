#include "worker/supervisor/worker_group.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "worker/supervisor/process_tree.h"

namespace pounce::worker {

Program node_step(const std::vector<std::string>& argv, const job::JobNodes& nodes, std::uint32_t node,
                  Epoch first_epoch, const Environment& ours) {
  Program step;
  step.environment = ours;
  job::pass_on_identity(ours, *step.environment);
  step.command = job::step_command(nodes.job, nodes.at(node));
  step.command.insert(step.command.end(), argv.begin(), argv.begin() + 2);
  step.command.insert(step.command.end(),
                      {"--node", std::to_string(node), "--first-epoch", std::to_string(first_epoch.value)});
  step.command.insert(step.command.end(), argv.begin() + 2, argv.end());
  step.descriptors = {{1, 1}, {2, 2}};
  step.death_signal = SIGTERM;
  return step;
}

namespace {

constexpr std::uint32_t kMostAccidents = 3;  // of one member: this node or this build is faulty
// Epochs only grow. A supervisor has fewer interpreters than this, so all its successor's epochs are above its own.
constexpr std::uint32_t kEpochsEach = 1'000'000;

sigset_t heeded() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&set, signal);
  return set;
}

timespec until(TimePoint when) {
  const auto left = std::clamp<std::int64_t>((when - Clock::now()).count(), 0, 3'600'000'000'000);
  return {left / 1'000'000'000, left % 1'000'000'000};
}

}  // namespace

WorkerGroup::WorkerGroup(const std::vector<WorkerIndex>& members, Start start, std::chrono::milliseconds leave_together)
    : order_(members), start_(std::move(start)), leave_together_(leave_together) {
  for (const WorkerIndex index : members) members_[index];
}

int WorkerGroup::run() {
  const sigset_t set = heeded();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const WorkerIndex index : order_)
    if (!ending_) start(index, members_[index]);
  while (any_running()) {
    const timespec limit = until(next_deadline());
    const int signal = ::sigtimedwait(&set, nullptr, &limit);
    if (signal == SIGCHLD)
      reap();
    else if (signal > 0)
      pass_on(signal);
    bring_back(Clock::now());
  }
  if (given_up_) return 1;
  const bool idle =
      std::ranges::all_of(members_, [](const auto& entry) { return entry.second.back_at != TimePoint::max(); });
  return static_cast<int>(idle ? SupervisorEnd::kLeftIdle : SupervisorEnd::kOver);
}

void WorkerGroup::start(WorkerIndex index, Member& member) {
  const Epoch first{member.starts++ * kEpochsEach};
  member.back_at = TimePoint::max();
  const auto started = start_(index, first);
  member.pid = started.value_or(0);
  if (started) return;
  spdlog::error("worker={} no process: {}", index.value, started.error().text);
  give_up({index, true});
}

void WorkerGroup::give_up(GivenUp member) {
  if (!given_up_) given_up_ = member;
  pass_on(SIGTERM);
}

void WorkerGroup::pass_on(int signal) {
  if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) ending_ = true;
  for (const auto& [index, member] : members_)
    if (member.pid > 0) ::kill(member.pid, signal);
}

// Reaps orphans of dead supervisors too.
void WorkerGroup::reap() {
  while (const auto gone = ended_child(kAnyChild)) {
    const auto found = std::ranges::find_if(members_, [&](const auto& entry) { return entry.second.pid == gone->pid; });
    if (found != members_.end()) ended(found->first, found->second, gone->wait_status);
  }
}

void WorkerGroup::ended(WorkerIndex index, Member& member, int wait_status) {
  member.pid = 0;
  const bool by_itself = WIFEXITED(wait_status);
  if (by_itself && WEXITSTATUS(wait_status) == static_cast<int>(SupervisorEnd::kOver)) return;
  if (by_itself && WEXITSTATUS(wait_status) == static_cast<int>(SupervisorEnd::kLeftIdle)) {
    member.back_at = Clock::now() + leave_together_;
    return;
  }
  spdlog::warn("worker={} its process died ({})", index.value, how_it_ended(wait_status));
  end_orphans();
  if (ending_) return;
  if (++member.accidents < kMostAccidents) return start(index, member);
  give_up({index, false});
}

// Processes that a dead supervisor's tasks had started hold GPU memory and ports that the next one needs.
void WorkerGroup::end_orphans() {
  std::set<pid_t> kept;
  for (const auto& [index, member] : members_) {
    if (member.pid == 0) continue;
    kept.insert(member.pid);
    for (const pid_t below : descendants_of(member.pid)) kept.insert(below);
  }
  for (const pid_t pid : descendants_of(::getpid()))
    if (!kept.contains(pid)) ::kill(pid, SIGKILL);
}

void WorkerGroup::bring_back(TimePoint now) {
  if (ending_) return;
  for (auto& [index, member] : members_)
    if (now >= member.back_at && any_running()) start(index, member);
}

bool WorkerGroup::any_running() const {
  return std::ranges::any_of(members_, [](const auto& entry) { return entry.second.pid > 0; });
}

TimePoint WorkerGroup::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const auto& [index, member] : members_) next = std::min(next, ending_ ? TimePoint::max() : member.back_at);
  return next;
}

}  // namespace pounce::worker
