#include "simulator/daemon.h"

#include <set>

#include "simulator/world.h"

namespace pounce::simulator {

using lease::JournalRecord;

Daemon::Daemon(World& world, const InstanceId& instance, Mutant mutant)
    : world_(world), instance_(instance), mutant_(mutant) {
  start();
}

void Daemon::start() {
  lease::Defaults defaults;
  if (mutant_ == Mutant::kIdleTimerLost && lives_ > 0) defaults.idle_release = std::chrono::hours(1000);
  core_ = std::make_unique<lease::LeaseCore>(instance_, defaults, [this] { return world_.fresh_lease(); });
  life_ = ++lives_;
  armed_ = TimePoint::max();
  hear(lease::JournalRead{on_disk_});
}

// What was not synced may be lost from any point on; sometimes the whole file is.
void Daemon::crash() {
  compare_journal();
  life_ = 0;
  in_cache_.resize(world_.random.below(static_cast<std::uint32_t>(in_cache_.size()) + 1));
  on_disk_.insert(on_disk_.end(), in_cache_.begin(), in_cache_.end());
  in_cache_.clear();
  if (world_.random.chance(world_.faults.journal_lost)) on_disk_.clear();
  world_.time.in(world_.random.between(100ms, 20s), [this] { start(); });
}

// I14: what the journal says is alive is what the core says is alive.
void Daemon::compare_journal() const {
  std::set<LeaseId> journal, live;
  for (const auto* file : {&on_disk_, &in_cache_}) {
    for (const JournalRecord& line : *file) {
      if (line.kind == JournalRecord::Kind::kEnded) journal.erase(line.lease);
      if (line.kind == JournalRecord::Kind::kIntent) journal.insert(line.lease);
    }
  }
  for (const lease::LeaseView& one : core_->leases()) {
    const bool doubted = one.state <= lease::LeaseState::kSubmitting && !journal.contains(one.lease);
    if (!doubted) live.insert(one.lease);
  }
  if (journal != live) world_.fail("the journal and the core differ (I14)");
}

void Daemon::hear(const lease::Event& event) {
  if (life_ == 0) return;
  const std::uint64_t life = life_;
  std::vector<lease::Action> actions;
  try {
    actions = core_->handle(event, world_.time.now());
  } catch (const std::exception& broken) {
    return world_.fail(broken.what());
  }
  if (auto broken = core_->broken_invariant()) world_.fail(*broken);
  for (const lease::Action& action : actions) carry_out(action);
  if (life == life_) arm();
}

void Daemon::arm() {
  const TimePoint due = core_->next_deadline();
  if (due == TimePoint::max() || due >= armed_) return;
  armed_ = due;
  world_.time.at(due + world_.random.between(0ms, 10ms), [this, life = life_, due] {
    if (life != life_ || armed_ != due) return;
    armed_ = TimePoint::max();
    hear(lease::TimePassed{});
  });
}

template <class T>
auto Daemon::back_here(T make_event) {
  return [this, life = life_, make_event](auto result) {
    if (life == life_) hear(make_event(std::move(result)));
  };
}

void Daemon::carry_out(const lease::Action& action) {
  std::visit([this](const auto& one) { on(one); }, action);
}

void Daemon::on(const lease::RecordIntent& action) {
  if (mutant_ == Mutant::kJournalAfter) return in_cache_.push_back(action.record);
  on_disk_.insert(on_disk_.end(), in_cache_.begin(), in_cache_.end());
  in_cache_.clear();
  on_disk_.push_back(action.record);
}

void Daemon::on(const lease::RecordOutcome& action) { in_cache_.push_back(action.record); }

void Daemon::on(const lease::SubmitJob& action) {
  bool written = false;
  for (const JournalRecord& line : on_disk_)
    written = written || (line.kind == JournalRecord::Kind::kIntent && line.lease == action.lease);
  if (!written) world_.fail("lease " + action.lease.hex() + " was submitted before its intent was on disk");
  world_.slurm.submit(instance_, action.lease, action.resources,
                      back_here([lease = action.lease](Result<JobIdentity> job) -> lease::Event {
                        if (job) return lease::Submitted{lease, *job};
                        return lease::SubmitFailed{lease, job.error()};
                      }));
}

void Daemon::on(const lease::CancelJob& action) {
  const auto done = [lease = action.lease](Result<void> outcome) -> lease::Event {
    return lease::CancelDone{lease, std::move(outcome)};
  };
  if (mutant_ == Mutant::kCancelOnce && !cancelled_.insert(action.lease).second)
    return world_.time.in(1ms, [reply = back_here(done)] { reply(Result<void>{}); });
  world_.slurm.cancel(instance_, action.job, back_here(done));
}

void Daemon::on(const lease::PollJobs& action) {
  world_.slurm.poll(action.jobs, back_here([](Result<std::vector<JobView>> jobs) -> lease::Event {
                      return lease::Polled{std::move(jobs)};
                    }));
}

void Daemon::on(const lease::TakeQueueSnapshot& action) {
  world_.slurm.look(action.jobs, back_here([](Result<QueueSnapshot> look) -> lease::Event {
                      return lease::QueueSnapshotTaken{std::move(look)};
                    }));
}

void Daemon::on(const lease::ReconcileJobs&) {
  const auto reconciled_jobs = [none = mutant_ == Mutant::kNoReconcile](Result<std::vector<JobView>> jobs) -> lease::Event {
    if (none) return lease::ReconcileDone{std::vector<JobView>{}};
    return lease::ReconcileDone{std::move(jobs)};
  };
  world_.slurm.reconcile(instance_, mutant_ == Mutant::kInstanceIgnored, back_here(reconciled_jobs));
}

void Daemon::on(const lease::AdmitClient& action) {
  world_.to_worker(action.lease, action.link, [who = action.session](Supervisor& worker) { worker.admit(who); });
}

void Daemon::on(const lease::DismissClient& action) {
  world_.to_worker(action.lease, action.link, [who = action.session](Supervisor& worker) { worker.dismiss(who); });
}

void Daemon::on(const lease::EndWorker& action) {
  world_.to_worker(action.lease, action.link, [idle = action.only_if_idle](Supervisor& worker) { worker.end(idle); });
}

void Daemon::on(const lease::GrantWorker& action) {
  world_.to_session(action.session, [action](Client& session) { session.grant(action); });
}

void Daemon::on(const lease::TellLeaseEnded& action) {
  world_.to_session(action.session, [action](Client& session) { session.lease_ended(action); });
}

void Daemon::on(const lease::TellRequestFailed& action) {
  world_.to_session(action.session, [action](Client& session) { session.request_failed(action); });
}

}  // namespace pounce::simulator
