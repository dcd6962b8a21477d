#include "simulator/world.h"

#include <algorithm>
#include <array>

#include "messages/sentence.h"

namespace pounce::simulator {
namespace {

constexpr auto kTroubleLeast = 30s, kTroubleMost = 150s, kSettle = 600s, kLook = 5s;
constexpr int kInstances = 2, kClientsEach = 2;
constexpr std::size_t kMostClients = 8;

InstanceId instance_number(int n) {
  std::array<std::uint8_t, InstanceId::kBytes> bytes{};
  bytes.back() = static_cast<std::uint8_t>(n + 1);
  return InstanceId(bytes);
}

}  // namespace

std::string millis(TimePoint when) {
  return std::to_string(std::chrono::duration_cast<Millis>(when.time_since_epoch()).count() - 1'000'000) + " ms";
}

World::World(std::uint64_t seed, Faults which, Bug bug, bool told)
    : random(seed), faults(which), slurm(*this), bug_(bug), told_(told), calm_(which == Faults{}) {
  for (int n = 0; n < kInstances; ++n)
    daemons_.push_back(std::make_unique<Daemon>(*this, instance_number(n), n == 0 ? bug : Bug::kNone));
  for (int n = 0; n < kInstances * kClientsEach; ++n) add_client(instance_number(n % kInstances));
}

World::~World() { interpreters_.clear(); }

void World::fail(const std::string& what) {
  if (!failure_) failure_ = "at " + millis(time.now()) + ": " + what;
}

// ---- clients and daemons -------------------------------------------------------------------------------------------

void World::add_client(const InstanceId& instance) {
  std::array<std::uint8_t, SessionId::kBytes> bytes{};
  bytes.back() = static_cast<std::uint8_t>(clients_.size() + 1);
  const SessionId id(bytes);
  clients_[id] = std::make_unique<Client>(*this, instance, id, bug_);
}

// Somebody opens the notebook again.
void World::kernel_gone(const InstanceId& instance) {
  time.in(random.between(1s, 20s), [this, instance] {
    if (!settling_ && clients_.size() < kMostClients) add_client(instance);
  });
}

Daemon& World::daemon(const InstanceId& instance) { return *daemons_[daemons_[0]->instance() == instance ? 0 : 1]; }

void World::to_daemon(const Wire& wire, const InstanceId& instance, std::uint64_t life, const lease::Event& event,
                      Connection::Repeat repeat) {
  wire->send(
      End::kServer,
      [to = &daemon(instance), life, event] {
        if (to->life() == life) to->hear(event);
      },
      repeat);
}

void World::from_worker(const Wire& wire, const InstanceId& instance, std::uint64_t life, lease::WorkerLink from,
                        const lease::Event& event, InterpreterNumber interpreter) {
  wire->send(End::kServer, [to = &daemon(instance), life, from, event, interpreter] {
    if (to->life() == life) to->hear_worker(from, event, interpreter);
  });
}

// A beat there and back: what was said before it has arrived.
void World::ask_answer(const Wire& wire, Supervisor& asker, Epoch told) {
  wire->send(End::kServer,
             [wire, &asker, told] { wire->send(End::kClient, [&asker, told] { asker.confirmed(told); }); });
}

// ---- workers -------------------------------------------------------------------------------------------------------

Interpreter* World::interpreter(InterpreterNumber number) {
  return number < interpreters_.size() ? interpreters_[number].interpreter : nullptr;
}

Interpreter* World::reachable(InterpreterNumber number) {
  Interpreter* found = interpreter(number);
  return found != nullptr && interpreters_[number].supervisor->reachable() ? found : nullptr;
}

void World::born(InterpreterNumber number, Interpreter& interpreter, Supervisor& supervisor) {
  interpreters_.resize(std::max<std::size_t>(interpreters_.size(), number + 1));
  interpreters_[number] = {&interpreter, &supervisor};
}

void World::start_workers(const JobView& job) {
  by_job_[job.job_identity.job].clear();
  for (std::uint32_t index = 0; index < job.resources.workers; ++index) start_supervisor(job, WorkerIndex{index});
}

// Its epochs are above those of all that were in its place before, in earlier runs of the job too; not in a job that is
// started twice.
void World::start_supervisor(const JobView& job, WorkerIndex index) {
  auto& group = by_job_[job.job_identity.job];
  const Epoch first{job.job_identity.restart * 1'000'000 + static_cast<std::uint32_t>(group.size()) * 1000};
  supervisors_.push_back(std::make_unique<Supervisor>(*this, job, index, first, bug_));
  group.push_back(supervisors_.back().get());
}

void World::kill_workers(SlurmJobId job) {
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return;
  const std::vector<Supervisor*> group = found->second;
  by_job_.erase(found);
  for (Supervisor* one : group) one->die();
}

// A controller that forgot its last seconds starts a running job once more. It finds the first processes later, or they
// are gone with their node.
void World::start_workers_twice(const JobView& job) {
  const auto found = by_job_.find(job.job_identity.job);
  if (found == by_job_.end()) return;
  ledger.job_started_twice();
  for (Supervisor* one : found->second) one->leave_behind();
  start_workers(job);
}

bool World::anybody_in(SlurmJobId job) const {
  const auto found = by_job_.find(job);
  return found != by_job_.end() &&
         std::ranges::any_of(found->second, [](const Supervisor* one) { return one->alive(); });
}

// The job ends with its last worker. One that left idle while others stayed comes back.
void World::supervisor_left(const Supervisor& supervisor, const JobView& job, bool only_idle) {
  const SlurmJobId id = job.job_identity.job;
  if (!anybody_in(id)) return slurm.worker_left(id, JobEnd::kCompleted);
  if (only_idle) time.in(10s + kLeave, [this, &supervisor, job] { start_again(supervisor, job); });
}

// Only within the same run of the job: its number may be another's by now.
void World::start_again(const Supervisor& supervisor, const JobView& job) {
  const auto found = by_job_.find(job.job_identity.job);
  if (found == by_job_.end() || std::ranges::find(found->second, &supervisor) == found->second.end()) return;
  if (!anybody_in(job.job_identity.job)) return slurm.worker_left(job.job_identity.job, JobEnd::kCompleted);
  start_supervisor(job, supervisor.index());
}

LeaseId World::fresh_lease() {
  ++leases_;
  std::array<std::uint8_t, LeaseId::kBytes> bytes;
  const std::uint64_t word = random.word();
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
  return LeaseId(bytes);
}

TaskId World::fresh_task() {
  std::array<std::uint8_t, TaskId::kBytes> bytes{};
  const std::uint64_t number = ++tasks_;
  for (std::size_t i = 0; i < sizeof number; ++i)
    bytes[bytes.size() - 1 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return TaskId(bytes);
}

// ---- a history -----------------------------------------------------------------------------------------------------

void World::second() {
  time.in(1s, [this] { second(); });
  slurm.second();
  for (const auto& daemon : daemons_) {
    if (daemon->life() != 0 && random.chance(faults.daemon_crash)) daemon->crash();
    daemon->second();
    if (daemon->life() != 0 && bug_ == Bug::kSilenceIgnored)
      for (const auto& [id, client] : clients_) daemon->hear(lease::SessionSeen{id});
  }
}

void World::quiet_down() {
  faults = Faults{};
  settling_ = true;
  slurm.heal();
}

Verdict World::live() {
  const TimePoint trouble_ends = time.now() + random.between(kTroubleLeast, kTroubleMost),
                  last = trouble_ends + kSettle;
  second();
  while (!failure_ && time.step(trouble_ends)) {
  }
  quiet_down();
  for (TimePoint look = trouble_ends + kLook; !failure_ && unsettled() && look <= last; look += kLook)
    while (!failure_ && time.step(look)) {
    }
  if (const auto what = unsettled(); what && !failure_) fail(*what);
  Verdict verdict{failure_, 0, 0, 0, events_, leases_, interpreters_.size()};
  for (const auto& [id, client] : clients_) {
    if (!client->alive()) continue;
    verdict.asked += client->asked;
    verdict.done += client->done;
    verdict.lost += client->lost;
  }
  return verdict;
}

// Nothing has gone wrong for a while, and nobody has asked for anything new: what is left?
std::optional<std::string> World::unsettled() const {
  for (const auto& [id, client] : clients_)
    if (const auto what = client->unsettled()) return what;
  for (const auto& daemon : daemons_) {
    if (daemon->life() == 0) return "a pounced has not come back";
    for (const lease::LeaseView& one : daemon->core().leases())
      return "lease " + one.lease.hex() + " is still " + std::string(lease::word(one.state)) + " (I8)";
  }
  for (const auto& [id, job] : slurm.jobs())
    if (job.view.state != JobState::kEnded)
      return "job " + std::to_string(id.value) + " of lease " + job.view.lease->hex() + " leaks (I10)";
  return std::nullopt;
}

std::string World::history() const {
  std::string text = noted_.str();
  const auto add = [&text](const lease::LeaseCore& core, const LeaseId& id) {
    text += "  lease " + id.hex() + "\n";
    for (const lease::HistoryLine& line : core.history(id))
      text += "    " + millis(line.when) + " " + std::string(lease::word(line.to)) + ": " +
              messages::sentence(line.why) + "\n";
  };
  for (const auto& daemon : daemons_) {
    text += "instance " + daemon->instance().hex() + ", life " + std::to_string(daemon->life()) + "\n";
    for (const LeaseId& id : daemon->core().ended_leases()) add(daemon->core(), id);
    for (const lease::LeaseView& one : daemon->core().leases()) add(daemon->core(), one.lease);
  }
  for (const auto& [id, client] : clients_) text += client->history();
  return text;
}

}  // namespace pounce::simulator
