#include "policy_simulator/user.h"

#include <algorithm>
#include <array>

namespace pounce::policy_simulator {
namespace {

constexpr auto kBoot = 4s;  // start of a worker's interpreter
constexpr WorkerIndex kFirst{0};
constexpr std::uint32_t kImpatient = 100'000;  // per million calls: withdrawn after waiting for kPatience
constexpr auto kPatience = 20min;
constexpr auto kQuiet = 15min;  // so long after all work nothing may be left

template <class Id>
Id numbered(std::uint64_t high, std::uint64_t low) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size() && i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(high >> (8 * i));
  for (std::size_t i = 4; i < bytes.size() && i < 12; ++i) bytes[i] = static_cast<std::uint8_t>(low >> (8 * (i - 4)));
  return Id(bytes);
}

lease::Defaults times_of(const Site& site) {
  lease::Defaults times;
  times.idle_release = site.idle_release;
  times.keep_warm = site.keep_warm;
  times.starts_per_hour = site.starts_per_hour;
  times.worker_silence = times.lost_after = std::chrono::hours(24 * 365);  // beats are not simulated
  return times;
}

Resources resources_for(const ClassRule& one, std::uint32_t gpus, std::uint32_t cpus) {
  Resources resources;
  resources.class_name = one.name;
  resources.gpus = std::min(gpus, one.gpus_per_user.value_or(gpus));
  resources.cpus = cpus;
  return resources;
}

}  // namespace

User::User(std::uint32_t number, const Site& site, Timeline& time, BatchSystem& slurm, Day& day,
           std::map<std::string, std::vector<Duration>>& waits)
    : number_(number),
      site_(site),
      time_(time),
      slurm_(slurm),
      day_(day),
      waits_(waits),
      random_(site.seed * 1'000'003 + number),
      core_(numbered<InstanceId>(number + 1, 0), times_of(site),
            [this] { return numbered<LeaseId>(number_ + 1, random_.word()); }) {
  hear(lease::JournalRead{});
}

Millis User::drawn(Millis least, Millis most) {
  return random_.between(least, std::min(random_.between(least, most), random_.between(least, most)));
}

// Users begin at all hours, since a cluster has no night.
void User::live(TimePoint end) {
  time_.in(random_.between(0ms, 2h), [this, end] { begin_something(end); });
}

// Begins, a third each, a notebook's cells, a series of many short jobs, or a few long ones, sized to a class's
// walltime.
void User::begin_something(TimePoint end) {
  if (time_.now() >= end) return;
  const ClassRule& one = site_.classes[random_.below(static_cast<std::uint32_t>(site_.classes.size()))];
  const Millis walltime = one.walltime;
  const std::uint32_t gpus = one.gpus_per_user == 0u ? 0 : 1;
  switch (random_.below(3)) {
    case 0:  // a notebook: one worker, and pauses between cells
      open(resources_for(one, gpus, 4), 5 + random_.below(30), 5s, std::min<Millis>(walltime / 4, 10min), 2min);
      break;
    case 1:  // a series: more jobs than may run at once
      for (std::uint32_t left = 2 + random_.below(30); left > 0; --left)
        open(resources_for(one, random_.below(2) * gpus, 1), 1, 1min, std::min<Millis>(walltime / 2, 40min), 0ms);
      break;
    default:  // long runs on several GPUs
      for (std::uint32_t left = 1 + random_.below(3); left > 0; --left)
        open(resources_for(one, gpus * (1 + random_.below(2)), 8), 1, walltime / 20,
             std::min<Millis>(walltime * 9 / 10, 8h), 0ms);
  }
  time_.in(random_.between(1h, 8h), [this, end] { begin_something(end); });
}

void User::open(Resources resources, std::uint32_t calls, Millis shortest, Millis longest, Millis pause) {
  const auto session = numbered<SessionId>(number_ + 1, ++sessions_);
  works_[session] =
      Work{std::move(resources), calls, shortest, std::max(shortest, longest), pause, {}, false, false, 0, {}};
  hear(lease::SessionOpened{session, true});
  call(session);
}

User::Work* User::work(const SessionId& session) {
  const auto found = works_.find(session);
  return found == works_.end() ? nullptr : &found->second;
}

void User::demand(const SessionId& session) {
  const Work& of = works_.at(session);
  hear(lease::DemandChanged{session, {{RequestId{1}, of.resources, of.waits ? 1u : 0u, of.runs ? 1u : 0u, {}}}});
}

void User::beat(const LeaseId& lease, std::uint32_t running) {
  const auto worker = workers_.find(lease);
  if (worker != workers_.end())
    hear(lease::WorkerSeen{lease, kFirst, lease::WorkerLink{worker->second.value}, running});
}

void User::call(const SessionId& session) {
  Work* of = work(session);
  if (of == nullptr) return;
  of->waits = true;
  of->since = time_.now();
  ++day_.classes[of->resources.class_name].calls;
  if (random_.chance(kImpatient)) time_.in(kPatience, [this, session, turn = of->turn] { withdraw(session, turn); });
  demand(session);
  if (of = work(session); of != nullptr && of->waits && workers_.contains(of->lease)) run(session, of->lease);
}

void User::run(const SessionId& session, const LeaseId& lease) {
  Work* of = work(session);
  if (of == nullptr) return;
  of->lease = lease;
  if (!of->waits) return;
  of->waits = false, of->runs = true;
  waits_[of->resources.class_name].push_back(time_.now() - of->since);
  of->since = time_.now();
  time_.in(drawn(of->shortest, of->longest), [this, session, turn = ++of->turn] { finish(session, turn); });
  beat(lease, 1);
  demand(session);
}

void User::finish(const SessionId& session, std::uint64_t turn) {
  Work* of = work(session);
  if (of == nullptr || !of->runs || of->turn != turn) return;
  of->runs = false;
  ++day_.classes[of->resources.class_name].done;
  day_.gpu_hours_busy +=
      of->resources.gpus * std::chrono::duration<double, std::ratio<3600>>(time_.now() - of->since).count();
  const bool last = --of->calls == 0;
  const Millis pause = last ? 0ms : drawn(1s, 2 * of->pause + 1s);
  beat(of->lease, 0);
  demand(session);
  if (last) return close(session);
  time_.in(pause, [this, session] { call(session); });
}

void User::withdraw(const SessionId& session, std::uint64_t turn) {
  Work* of = work(session);
  if (of == nullptr || !of->waits || of->turn != turn) return;
  ++day_.classes[of->resources.class_name].withdrawn;
  close(session);
}

void User::close(const SessionId& session) {
  works_.erase(session);
  hear(lease::SessionClosed{session});
  if (works_.empty())
    time_.in(kQuiet, [this, so_far = sessions_] {
      if (sessions_ == so_far) check_over();
    });
}

// ---- the user's pounced around the lease core --------------------------------------------------------------------

void User::hear(const lease::Event& event) {
  events_.push_back(event);
  if (std::exchange(hearing_, true)) return;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const lease::Event next = events_[i];
    ++day_.events;
    for (const lease::Action& action : core_.handle(next, time_.now()))
      std::visit([this](const auto& order) { on(order); }, action);
    if (const auto broken = core_.broken_invariant())
      day_.broken.push_back("user " + std::to_string(number_) + ": " + *broken);
  }
  events_.clear();
  hearing_ = false;
  arm();
}

void User::arm() {
  const TimePoint due = core_.next_deadline();
  if (due == TimePoint::max() || due >= armed_) return;
  armed_ = due;
  time_.at(due, [this, due] {
    if (armed_ != due) return;
    armed_ = TimePoint::max();
    hear(lease::TimePassed{});
  });
}

void User::on(const lease::SubmitJob& order) {
  const auto job = slurm_.submit(
      number_, order.lease, numbered<InstanceId>(number_ + 1, 0), order.resources,
      [this](const JobView& started) { time_.in(kBoot, [this, started] { worker_up(started); }); },
      [this](const JobView& ended) { worker_gone(ended); });
  if (job) return hear(lease::Submitted{order.lease, *job});
  hear(lease::SubmitFailed{order.lease, job.error()});
}

void User::on(const lease::CancelJob& order) {
  slurm_.end(order.job.job, JobEnd::kCancelled);
  hear(lease::CancelDone{order.lease, {}});
}

void User::on(const lease::PollJobs& order) {
  std::vector<JobView> views;
  for (const JobIdentity& job : order.jobs) views.push_back(slurm_.view(job.job));
  hear(lease::Polled{std::move(views)});
}

void User::on(const lease::ReconcileJobs&) { hear(lease::ReconcileDone{slurm_.jobs_of(number_)}); }

void User::on(const lease::TakeQueueSnapshot& order) { hear(lease::QueueSnapshotTaken{slurm_.look(order.jobs)}); }

// With only_if_idle the worker ends only if nothing runs on it; otherwise it ends in any case.
void User::on(const lease::EndWorker& order) {
  const auto worker = workers_.find(order.lease);
  if (worker == workers_.end()) return;
  const bool busy = std::ranges::any_of(
      works_, [&](const auto& entry) { return entry.second.runs && entry.second.lease == order.lease; });
  if (busy && order.only_if_idle) return beat(order.lease, 1);
  slurm_.end(worker->second, JobEnd::kCompleted);
}

void User::on(const lease::GrantWorker& order) { run(order.session, order.lease); }

// The running call is lost, and its user calls again.
void User::on(const lease::TellLeaseEnded& order) {
  if (order.error.cause.code == CauseCode::kOtherJobWaits) ++day_.reclaimed_for_others;
  Work* of = work(order.session);
  if (of == nullptr || of->lease != order.lease) return;
  of->lease = LeaseId{};
  if (!of->runs) return;
  of->runs = false;
  ++day_.classes[of->resources.class_name].lost;
  time_.in(1s, [this, session = order.session] { call(session); });
  demand(order.session);
}

void User::on(const lease::TellRequestFailed& order) {
  Work* of = work(order.session);
  if (of == nullptr) return;
  ++day_.classes[of->resources.class_name].refused;
  time_.in(0s, [this, session = order.session] {
    if (work(session) != nullptr) close(session);
  });
}

void User::worker_up(const JobView& job) {
  if (slurm_.view(job.job_identity.job).state != JobState::kRunning) return;
  workers_[*job.lease] = job.job_identity.job;
  const lease::WorkerLink link{job.job_identity.job.value};
  hear(lease::WorkerConnected{*job.lease, kFirst, link, job.job_identity.job, 0, job.nodes, ""});
  hear(lease::InterpreterStarted{*job.lease, kFirst, link, Epoch{1}});
}

void User::worker_gone(const JobView& job) {
  if (workers_.erase(*job.lease) > 0)
    hear(lease::WorkerLost{*job.lease, kFirst, lease::WorkerLink{job.job_identity.job.value}});
}

void User::check_over() {
  for (const lease::LeaseView& one : core_.leases())
    day_.broken.push_back("user " + std::to_string(number_) + ": lease " + one.lease.hex() + " is left over, " +
                          std::string(lease::word(one.state)));
  for (const JobView& job : slurm_.jobs_of(number_))
    if (job.state != JobState::kEnded)
      day_.broken.push_back("user " + std::to_string(number_) + ": job " + std::to_string(job.job_identity.job.value) +
                            " is left over");
}

}  // namespace pounce::policy_simulator
