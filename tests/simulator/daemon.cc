#include "simulator/daemon.h"

#include <algorithm>
#include <set>

#include "simulator/world.h"

namespace pounce::simulator {

using lease::JournalRecord;

namespace {

constexpr auto kSlack = 6s;  // a beat, and messages on their way

// A history is short: so are the times. Their order is the defaults'.
lease::Defaults times() {
  lease::Defaults times;
  times.idle_release = 12s;
  times.orphan_grace = 20s;
  times.hello_deadline = 30s;
  times.drain = 6s;
  times.leave = kLeave;
  times.poll_max = 8s;
  times.reconcile_interval = 20s;
  times.worker_silence = 12s;
  times.lost_after = kLostAfter;
  times.watchdog_idle = kWatchdogIdle;
  times.watchdog_busy = kWatchdogBusy;
  times.no_replacement = 20s;
  times.crash_window = 60s;
  return times;
}

}  // namespace

Daemon::Daemon(World& world, const InstanceId& instance, Bug bug)
    : world_(world),
      instance_(instance),
      bug_(bug),
      sees_queue_(world.faults.lost_reply == 0 && world.faults.slurm_down == 0 && !world.slurm.hides()) {
  start();
}

void Daemon::start() {
  lease::Defaults defaults = times();
  if (bug_ == Bug::kIdleTimerLost && lives_ > 0) defaults.idle_release = std::chrono::hours(1000);
  if (bug_ == Bug::kNobodyYields) defaults.yield_after = defaults.idle_release;
  owes_since_.reset();
  core_ = std::make_unique<lease::LeaseCore>(instance_, defaults, [this] { return world_.fresh_lease(); });
  life_ = ++lives_;
  armed_ = TimePoint::max();
  hear(lease::JournalRead{on_disk_});
}

// What was not synced may be lost from any point on; sometimes the whole file is.
void Daemon::crash() {
  compare_journal();
  life_ = 0;
  for (const auto& [session, peer] : clients_) peer.wire->cut(100ms);
  for (const auto& [link, peer] : workers_) peer.wire->cut(1s);
  clients_.clear();
  workers_.clear();
  interpreters_.clear();
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

// Where Slurm answers, nobody waits long for a lease that nothing would be lost with.
void Daemon::second() {
  if (life_ == 0 || !owes_a_lease()) return owes_since_.reset();
  if (!owes_since_) owes_since_ = world_.time.now();
  const lease::Defaults usual = times();
  if (world_.time.now() - *owes_since_ > usual.yield_after + usual.warm_poll + kSlack)
    world_.fail("somebody waits, and a saved lease is idle");
}

// One could go, and more wait than are leaving.
bool Daemon::owes_a_lease() const {
  if (!sees_queue_ || world_.slurm.waiting() == 0) return false;
  std::ptrdiff_t leaving = 0, may_go = 0;
  for (const lease::LeaseView& one : core_->leases()) {
    leaving += one.state == lease::LeaseState::kDraining || one.state == lease::LeaseState::kEnding;
    const auto saved = std::ranges::count_if(workers_, [&](const auto& entry) {
      const Supervisor& worker = *entry.second.supervisor;
      return worker.lease() == one.lease && worker.heard_for(kSlack) && worker.state() == NamespaceState::kSaved;
    });
    const bool held =
        one.job && world_.slurm.runs(*one.job);  // else it goes already, and pounced hears of it with its next poll
    may_go += one.state == lease::LeaseState::kIdle && held && saved == one.resources.workers;
  }
  return may_go > 0 && world_.slurm.waiting() > leaving;
}

// ---- who is there -------------------------------------------------------------------------------------------------

void Daemon::connected(Client& client, const Wire& wire) { clients_[client.id()] = {&client, wire}; }

void Daemon::connected(lease::WorkerLink link, Supervisor& supervisor, const Wire& wire) {
  std::erase_if(workers_, [&](const auto& entry) { return entry.second.supervisor == &supervisor; });  // its key
  workers_[link] = {&supervisor, wire};
}

// Who is not a peer any more is not heard (daemon/pounced/net/peers.h).
void Daemon::hear_worker(lease::WorkerLink from, const lease::Event& event, InterpreterNumber interpreter) {
  const auto peer = workers_.find(from);
  if (peer == workers_.end()) return;
  const auto here = std::pair(peer->second.supervisor->lease(), peer->second.supervisor->index());
  if (const auto* started = std::get_if<lease::InterpreterStarted>(&event)) {
    if (!core_->speaks_for(here.first, here.second, from)) return;  // it was sent away
    interpreters_[here] = {started->epoch, interpreter};
    owes_since_.reset();  // its lease is idle from now on, also where no look was between the death and this
  }
  peer->second.named = true;
  hear(event);
  if (!std::holds_alternative<lease::WorkerConnected>(event) || !core_->speaks_for(here.first, here.second, from))
    return;
  std::erase_if(workers_, [&](const auto& entry) {
    const WorkerPeer& other = entry.second;
    return entry.first != from && other.named &&
           std::pair(other.supervisor->lease(), other.supervisor->index()) == here;
  });
}

template <class Tell>
void Daemon::to_client(const SessionId& session, Tell tell) {
  const auto peer = clients_.find(session);
  if (peer == clients_.end()) return;  // it is told what it missed when it comes back
  peer->second.wire->send(End::kClient, [client = peer->second.client, tell] {
    if (client->alive()) tell(*client);
  });
}

template <class Tell>
void Daemon::to_worker(lease::WorkerLink link, Tell tell) {
  const auto peer = workers_.find(link);
  if (peer == workers_.end()) return;
  peer->second.wire->send(End::kClient, [supervisor = peer->second.supervisor, tell] {
    if (supervisor->alive()) tell(*supervisor);
  });
}

// ---- the lease core -----------------------------------------------------------------------------------------------

void Daemon::hear(const lease::Event& event) {
  if (life_ == 0) return;
  if (worth_telling(event)) world_.note(" pounced ", number(), " hears ", Heard{event});
  if (const auto* asked = std::get_if<lease::ReleaseAsked>(&event); asked != nullptr && asked->now)
    world_.ledger.lease(asked->lease).ended_unheard = true;
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
  if (bug_ == Bug::kJournalAfter) return in_cache_.push_back(action.record);
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

// I6: given up as silent is only who could not be heard. One that was sent away, and stays, is heard for nobody.
void Daemon::check_silence(const LeaseId& lease) const {
  const auto lines = core_->history(lease);
  if (lines.empty() || lines.back().why.code != CauseCode::kWorkerSilent) return;
  if (std::ranges::any_of(workers_, [&](const auto& entry) {
        const Supervisor& one = *entry.second.supervisor;
        return !entry.second.sent_away && one.lease() == lease && core_->speaks_for(lease, one.index(), entry.first) &&
               one.heard_for(kLostAfter);
      }))
    world_.fail("lease " + lease.hex() + " is given up as silent, and its worker speaks (I6)");
}

void Daemon::on(const lease::CancelJob& action) {
  check_silence(action.lease);
  const auto done = [lease = action.lease](Result<void> outcome) -> lease::Event {
    return lease::CancelDone{lease, std::move(outcome)};
  };
  if (bug_ == Bug::kCancelOnce && !cancelled_.insert(action.lease).second)
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
  const auto reconciled_jobs = [none = bug_ == Bug::kNoReconcile](Result<std::vector<JobView>> jobs) -> lease::Event {
    if (none) return lease::ReconcileDone{std::vector<JobView>{}};
    return lease::ReconcileDone{std::move(jobs)};
  };
  world_.slurm.reconcile(instance_, bug_ == Bug::kInstanceIgnored, back_here(reconciled_jobs));
}

void Daemon::on(const lease::AdmitClient& action) {
  if (!clients_.contains(action.session)) return;  // it comes back with another key: SessionOpened repeats this
  to_worker(action.link, [who = action.session](Supervisor& worker) { worker.admit(who); });
}

void Daemon::on(const lease::DismissClient& action) {
  to_worker(action.link, [who = action.session](Supervisor& worker) { worker.dismiss(who); });
}

void Daemon::on(const lease::EndWorker& action) {
  if (const auto peer = workers_.find(action.link); peer != workers_.end())
    peer->second.sent_away |= !action.only_if_idle;
  world_.note(" pounced ", number(), " ends ", Short{action.lease}, " by link ", action.link.value,
              action.only_if_idle ? " if idle: " : ": ", Said{action.why});
  to_worker(action.link, [idle = action.only_if_idle](Supervisor& worker) { worker.end(idle); });
}

void Daemon::on(const lease::GrantWorker& action) {
  const auto found = interpreters_.find({action.lease, action.worker});
  if (found == interpreters_.end() || found->second.epoch != action.epoch) return;  // a newer grant follows
  to_client(action.session,
            [action, number = found->second.number](Client& client) { client.granted(action, number); });
}

void Daemon::on(const lease::TellWorkerDown& action) {
  to_client(action.session, [action](Client& client) { client.worker_down(action); });
}

void Daemon::on(const lease::TellLeaseEnded& action) {
  if (action.error.cause.code == CauseCode::kUnknownToSlurm && world_.slurm.shows(action.lease))
    world_.fail("lease " + action.lease.hex() + " is said to be unknown to Slurm, and Slurm knows it");
  if (action.error.cause.code == CauseCode::kNothingWaits && world_.slurm.runs(action.lease))
    world_.ledger.lease(action.lease).ended_unheard = true;
  if (bug_ == Bug::kEndToldOnce && !told_ends_.insert(action.lease).second) return;
  to_client(action.session, [action](Client& client) { client.lease_ended(action); });
}

void Daemon::on(const lease::TellRequestFailed& action) {
  to_client(action.session, [action](Client& client) { client.request_failed(action); });
}

}  // namespace pounce::simulator
