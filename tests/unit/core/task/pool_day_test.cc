// A day of 200 people with pools on one cluster, hours in a second: the task cores are real, Slurm is a line of jobs
// here.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "core/task/machine.h"

namespace pounce::task {
namespace {

using namespace std::chrono_literals;

constexpr int kUsers = 200, kGpus = 96;
constexpr std::uint32_t kMost = 16;  // leases of one pool
constexpr int kRunningJobs = 8;      // that the class lets one user have
constexpr auto kIdle = 60s;

class Day;

class User {
 public:
  explicit User(Day& day);
  void burst(int tasks, Duration each);
  void happened(const Event& event);

  struct Job {
    LeaseId id;
    bool runs = false;
    bool demanded = true;
    Duration busy_until{};
    int tasks = 0;
    TimePoint idle_since{};
  };
  std::map<RequestId, Job> jobs;
  int submitted = 0, done = 0, failed = 0;

 private:
  friend class Day;
  void carry_out(const Action& action);
  void demand(const std::vector<Request>& requests);
  void arm();
  RequestId request_of(const LeaseId& lease) const;

  Day& day_;
  Machine machine_;
  Resources resources_;
  std::map<TaskId, Duration> lengths_;
  TimePoint armed_ = TimePoint::max();
  int running_jobs_ = 0;
};

class Day {
 public:
  explicit Day(std::uint32_t seed) : random(seed) {
    for (int n = 0; n < kUsers; ++n) users.push_back(std::make_unique<User>(*this));
  }

  void at(TimePoint when, std::function<void()> what) { line_.emplace(std::max(when, now), std::move(what)); }
  void live() {
    while (!line_.empty()) {
      auto first = line_.extract(line_.begin());
      now = first.key();
      first.mapped()();
    }
  }

  void queue(User& user, RequestId request) {
    waiting_.push_back({&user, request, user.jobs.at(request).id});
    ++submitted;
    start_jobs();
  }
  void end(User& user, RequestId request) {
    const User::Job job = user.jobs.at(request);
    user.jobs.erase(request);
    if (!job.runs) return;
    ++gpus_free_;
    --user.running_jobs_;
    useless += job.tasks == 0;
    user.happened(LeaseLost{request, job.id, {ErrorCode::kLeaseEnded, "idle", {}, {}}});
    start_jobs();
  }
  // First come, first served, as far as the class lets each have more.
  void start_jobs() {
    for (auto it = waiting_.begin(); it != waiting_.end() && gpus_free_ > 0;) {
      User* const user = it->user;
      const RequestId request = it->request;
      const LeaseId lease = it->lease;
      const auto job = user->jobs.find(request);
      const bool withdrawn = job == user->jobs.end() || job->second.id != lease;
      if (!withdrawn && user->running_jobs_ >= kRunningJobs) {
        ++it;
        continue;
      }
      it = waiting_.erase(it);
      if (withdrawn) continue;
      job->second.runs = true;
      --gpus_free_;
      ++user->running_jobs_;
      most_running = std::max(most_running, user->running_jobs_);
      const WorkerRef place{lease, WorkerIndex{0}};
      at(now + milliseconds(500, 4000),
         [user, request, place] { user->happened(WorkerGranted{request, place, Epoch{1}, {}}); });
    }
  }
  std::chrono::milliseconds milliseconds(int from, int to) {
    return std::chrono::milliseconds(std::uniform_int_distribution(from, to)(random));
  }
  LeaseId fresh_lease() { return id<LeaseId>(++ids_); }
  TaskId fresh_task() { return id<TaskId>(++ids_); }

  std::mt19937 random;
  TimePoint now = TimePoint{} + 1h;
  std::vector<std::unique_ptr<User>> users;
  int submitted = 0, useless = 0, most_running = 0;
  std::size_t most_jobs = 0;

 private:
  struct Waiting {
    User* user;
    RequestId request;
    LeaseId lease;
  };
  template <class Id>
  static Id id(std::uint64_t number) {
    std::array<std::uint8_t, Id::kBytes> bytes{};
    for (std::size_t i = 0; i < sizeof(number) && i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
    return Id(bytes);
  }

  std::multimap<TimePoint, std::function<void()>> line_;
  std::deque<Waiting> waiting_;
  int gpus_free_ = kGpus;
  std::uint64_t ids_ = 0;
};

User::User(Day& day) : day_(day) {
  resources_.gpus = 1;
  resources_.leases_most = kMost;
  day_.at(day_.now, [this] { happened(SessionOpened{}); });
}

void User::burst(int tasks, Duration each) {
  for (int n = 0; n < tasks; ++n) {
    const TaskId id = day_.fresh_task();
    lengths_[id] = std::chrono::duration_cast<Duration>(each * std::uniform_real_distribution(0.5, 1.5)(day_.random));
    ++submitted;
    happened(TaskSubmitted{id, resources_, 0});
  }
}

void User::happened(const Event& event) {
  for (const Action& action : machine_.handle(event, day_.now)) carry_out(action);
  arm();
}

void User::arm() {
  const TimePoint due = machine_.next_deadline();
  if (due == TimePoint::max() || due >= armed_) return;
  armed_ = due;
  day_.at(due, [this, due] {
    if (armed_ != due) return;
    armed_ = TimePoint::max();
    happened(TimePassed{});
  });
}

RequestId User::request_of(const LeaseId& lease) const {
  const auto job = std::ranges::find_if(jobs, [&](const auto& entry) { return entry.second.id == lease; });
  return job == jobs.end() ? RequestId{} : job->first;
}

void User::carry_out(const Action& action) {
  if (const auto* wanted = std::get_if<SendDemand>(&action)) demand(wanted->requests);
  if (const auto* connect = std::get_if<Connect>(&action))
    day_.at(day_.now + 5ms, [this, at = *connect] { happened(WorkerAttached{at.place, at.epoch}); });
  if (std::holds_alternative<Deliver>(action)) ++done;
  if (std::holds_alternative<Fail>(action)) ++failed;
  const auto* sent = std::get_if<SendTask>(&action);
  if (sent == nullptr) return;
  Job& job = jobs.at(request_of(sent->place.lease));
  ++job.tasks;
  const Duration begins = std::max(job.busy_until, day_.now.time_since_epoch());
  job.busy_until = begins + lengths_.at(sent->task) + 1ms;
  day_.at(TimePoint{} + job.busy_until, [this, order = *sent] {
    lengths_.erase(order.task);
    happened(OutcomeArrived{order.place, Epoch{1}, order.task});
  });
}

// What pounced does: a job for whoever has work and none, withdrawn where there is no work, given back after a minute
// without.
void User::demand(const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    const bool demanded = request.waiting + request.running > 0;
    const auto job = jobs.find(request.id);
    if (job == jobs.end()) {
      if (request.waiting == 0) continue;
      jobs[request.id].id = day_.fresh_lease();
      day_.queue(*this, request.id);
      continue;
    }
    const bool was_demanded = std::exchange(job->second.demanded, demanded);
    if (demanded) continue;
    if (!job->second.runs) {
      day_.end(*this, request.id);
      continue;
    }
    if (!was_demanded) continue;
    job->second.idle_since = day_.now;
    day_.at(day_.now + kIdle, [this, id = request.id, lease = job->second.id, since = day_.now] {
      const auto idle = jobs.find(id);
      if (idle != jobs.end() && idle->second.id == lease && !idle->second.demanded && idle->second.idle_since == since)
        day_.end(*this, id);
    });
  }
  day_.most_jobs = std::max(day_.most_jobs, jobs.size());
}

TEST(PoolDayTest, NoLimitIsExceededNoLeaseIsLeftAndFewAreForNothing) {
  Day day(1);
  std::lognormal_distribution<double> seconds(1.0, 2.0), tasks(2.5, 1.2);
  std::uniform_real_distribution<double> hour(0, 24);
  for (const auto& user : day.users)
    for (int burst = 0; burst < 6; ++burst)
      day.at(day.now + std::chrono::duration_cast<Duration>(
                           std::chrono::duration<double, std::ratio<3600>>(hour(day.random))),
             [&, user = user.get()] {
               const int count = 1 + static_cast<int>(std::min(tasks(day.random), 500.0));
               user->burst(count, std::chrono::duration_cast<Duration>(
                                      std::chrono::duration<double>(std::min(seconds(day.random), 600.0))));
             });

  day.live();

  int submitted = 0, done = 0, failed = 0, left = 0;
  for (const auto& user : day.users) {
    submitted += user->submitted;
    done += user->done;
    failed += user->failed;
    left += static_cast<int>(user->jobs.size());
  }
  EXPECT_EQ(done, submitted);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(left, 0);
  EXPECT_LE(day.most_jobs, kMost);
  EXPECT_LE(day.most_running, kRunningJobs);
  EXPECT_GT(day.most_running, 1);
  EXPECT_LT(day.useless * 12, day.submitted);  // a lease that found its work done by others when it came
  RecordProperty("tasks", submitted);
  RecordProperty("leases", day.submitted);
  RecordProperty("useless", day.useless);
}

}  // namespace
}  // namespace pounce::task
