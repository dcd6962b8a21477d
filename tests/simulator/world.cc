#include "simulator/world.h"

#include <algorithm>
#include <array>

#include "messages/sentence.h"

namespace pounce::simulator {
namespace {

constexpr auto kTrouble = 400s, kSettle = 900s;
constexpr int kInstances = 2, kSessionsEach = 2;

InstanceId instance_number(int n) {
  std::array<std::uint8_t, InstanceId::kBytes> bytes{};
  bytes.back() = static_cast<std::uint8_t>(n + 1);
  return InstanceId(bytes);
}

std::string millis(TimePoint when) {
  return std::to_string(std::chrono::duration_cast<Millis>(when.time_since_epoch()).count() - 1'000'000) + " ms";
}

}  // namespace

World::World(std::uint64_t seed, Faults which, Mutant mutant)
    : random(seed), faults(which), slurm(*this), mutant_(mutant) {
  for (int n = 0; n < kInstances; ++n)
    daemons_.push_back(std::make_unique<Daemon>(*this, instance_number(n), n == 0 ? mutant : Mutant::kNone));
  for (int n = 0; n < kInstances * kSessionsEach; ++n) add_session();
}

World::~World() = default;

void World::add_session() {
  std::array<std::uint8_t, SessionId::kBytes> bytes{};
  bytes.back() = static_cast<std::uint8_t>(sessions_.size() + 1);
  const SessionId id(bytes);
  const InstanceId instance = instance_number(static_cast<int>(sessions_.size()) % kInstances);
  sessions_[id] = std::make_unique<Client>(*this, instance, id);
}

void World::fail(const std::string& what) {
  if (failure_) return;
  failure_ = "at " + millis(time.now()) + ": " + what;
}

Daemon& World::daemon(const InstanceId& instance) {
  return *daemons_[daemons_[0]->instance() == instance ? 0 : 1];
}

bool World::run_somewhere(const LeaseId& lease, const SessionId& session, RequestId request, Millis length) {
  for (auto& [job, worker_group] : by_job_)
    for (Supervisor* worker : worker_group)
      if (worker->lease() == lease && worker->run(session, request, length)) return true;
  return false;
}

void World::deliver(Daemon& to, std::uint64_t life, TimePoint when, const lease::Event& event) {
  const int times = random.chance(faults.repeated) ? 2 : 1;
  for (int i = 0; i < times; ++i)
    time.at(when, [&to, life, event, this] {
      ++events_;
      if (to.life() == life) to.hear(event);
    });
}

void World::to_worker(const LeaseId& lease, lease::WorkerLink link, std::function<void(Supervisor&)> what) {
  time.in(random.between(0ms, 20ms), [this, lease, link, what] {
    for (auto& [job, worker_group] : by_job_)
      for (Supervisor* worker : worker_group)
        if (worker->alive() && worker->lease() == lease && worker->link() == link) return what(*worker);
  });
}

void World::to_session(const SessionId& session, std::function<void(Client&)> what) {
  time.in(random.between(0ms, 20ms), [this, session, what] { what(*sessions_.at(session)); });
}

void World::task_ended(const SessionId& session, RequestId request, bool done) {
  to_session(session, [request, done](Client& to) { to.task_ended(request, done); });
}

void World::start_workers(const JobView& job) {
  by_job_[job.job_identity.job].clear();
  for (std::uint32_t index = 0; index < job.resources.workers; ++index) start_worker(job, WorkerIndex{index});
}

// Its epochs are above those of all that were in its place before.
void World::start_worker(const JobView& job, WorkerIndex index) {
  auto& worker_group = by_job_[job.job_identity.job];
  workers_.push_back(std::make_unique<Supervisor>(*this, job, index, Epoch{static_cast<std::uint32_t>(worker_group.size()) * 1000}));
  worker_group.push_back(workers_.back().get());
}

void World::kill_workers(SlurmJobId job) {
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return;
  const std::vector<Supervisor*> worker_group = found->second;
  by_job_.erase(found);
  for (Supervisor* worker : worker_group) worker->die();
}

bool World::anybody_in(SlurmJobId job) const {
  const auto found = by_job_.find(job);
  return found != by_job_.end() && std::ranges::any_of(found->second, [](const Supervisor* one) { return one->alive(); });
}

// The job ends with its last worker. One that left idle while others stayed comes back.
void World::worker_left(const Supervisor& worker, const JobView& job, bool only_idle) {
  const SlurmJobId id = job.job_identity.job;
  if (!anybody_in(id)) return slurm.worker_left(id, JobEnd::kCompleted);
  if (only_idle) time.in(10s, [this, &worker, job] { start_again(worker, job); });
}

// Only within the same run of the job: its number may be another's by now.
void World::start_again(const Supervisor& worker, const JobView& job) {
  const auto found = by_job_.find(job.job_identity.job);
  if (found == by_job_.end() || std::ranges::find(found->second, &worker) == found->second.end()) return;
  if (!anybody_in(job.job_identity.job)) return slurm.worker_left(job.job_identity.job, JobEnd::kCompleted);
  start_worker(job, worker.index());
}

LeaseId World::fresh_lease() {
  ++leases_;
  std::array<std::uint8_t, LeaseId::kBytes> bytes;
  const std::uint64_t word = random.word();
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
  return LeaseId(bytes);
}

void World::second() {
  time.in(1s, [this] { second(); });
  slurm.second();
  for (const auto& daemon : daemons_) {
    if (daemon->life() != 0 && random.chance(faults.daemon_crash)) daemon->crash();
    if (daemon->life() != 0 && mutant_ == Mutant::kSilenceIgnored)
      for (const auto& [id, session] : sessions_) daemon->hear(lease::SessionSeen{id});
  }
}

void World::quiet_down() {
  faults = Faults{};
  settling_ = true;
  slurm.heal();
}

Outcome World::live() {
  const TimePoint trouble_ends = time.now() + kTrouble, end = trouble_ends + kSettle;
  second();
  while (!failure_ && time.step(trouble_ends)) {
  }
  quiet_down();
  while (!failure_ && time.step(end)) {
  }
  if (!failure_) check_settled();
  Outcome outcome{failure_, 0, 0, 0, 0, events_, 0, leases_};
  for (const auto& [id, session] : sessions_) {
    outcome.asked += session->asked;
    outcome.done += session->done;
    outcome.lost += session->lost;
    outcome.failed += session->failed;
  }
  for (const auto& daemon : daemons_) outcome.submits += daemon->core().counters().submits;
  return outcome;
}

std::string World::history() const {
  std::string text;
  const auto add = [&text](const lease::LeaseCore& core, const LeaseId& id) {
    text += "  lease " + id.hex() + "\n";
    for (const lease::HistoryLine& line : core.history(id)) text += "    " + millis(line.when) + " " + std::string(lease::word(line.to)) + ": " + messages::sentence(line.why) + "\n";
  };
  for (const auto& daemon : daemons_) {
    text += "instance " + daemon->instance().hex() + ", life " + std::to_string(daemon->life()) + "\n";
    for (const LeaseId& id : daemon->core().ended_leases()) add(daemon->core(), id);
    for (const lease::LeaseView& one : daemon->core().leases()) add(daemon->core(), one.lease);
  }
  for (const auto& [id, session] : sessions_)
    text += "session " + id.hex() + (session->alive() ? "" : " gone") + " asked " + std::to_string(session->asked) +
            " done " + std::to_string(session->done) + " waiting " + std::to_string(session->waiting()) + " running " +
            std::to_string(session->running()) + "\n";
  return text;
}

// Nothing has gone wrong for a quarter of an hour, and nobody has asked for anything new.
void World::check_settled() {
  for (const auto& [id, session] : sessions_) {
    if (!session->alive()) continue;
    if (session->waiting() > 0) fail("session " + id.hex() + " still waits for a worker (I9)");
    if (session->running() > 0) fail("session " + id.hex() + " still believes that a task runs");
  }
  for (const auto& daemon : daemons_)
    for (const lease::LeaseView& one : daemon->core().leases())
      fail("lease " + one.lease.hex() + " is still " + std::string(lease::word(one.state)) + " (I8)");
  for (const auto& [id, job] : slurm.jobs())
    if (job.view.state != JobState::kEnded)
      fail("job " + std::to_string(id.value) + " of lease " + job.view.lease->hex() + " leaks (I10)");
}

}  // namespace pounce::simulator
