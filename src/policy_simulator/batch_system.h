// The batch system of a simulated day, and its virtual time. Jobs go by priority and age, within the limits of the
// class and of the user. What it really does is recounted apart from how it decides (audit). Thread: any.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/job.h"
#include "model/queue_snapshot.h"
#include "policy_simulator/simulated_day.h"
#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce::policy_simulator {

using namespace std::chrono_literals;
using Millis = std::chrono::milliseconds;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t word() { return engine_(); }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(word() % bound); }
  // Per million, to avoid floating point.
  bool chance(std::uint32_t per_million) { return below(1'000'000) < per_million; }
  Millis between(Millis least, Millis most) {
    return least + Millis(below(static_cast<std::uint32_t>((most - least).count() + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

class Timeline {
 public:
  TimePoint now() const { return now_; }

  void at(TimePoint when, std::function<void()> happen) {
    queue_.push_back({std::max(when, now_), ++sequence_, std::move(happen)});
    std::push_heap(queue_.begin(), queue_.end());
  }
  void in(Duration wait, std::function<void()> happen) { at(now_ + wait, std::move(happen)); }

  // False if nothing is left before `end`.
  bool step(TimePoint end) {
    if (queue_.empty() || queue_.front().when > end) {
      now_ = end;
      return false;
    }
    std::pop_heap(queue_.begin(), queue_.end());
    const auto happen = std::move(queue_.back().happen);
    now_ = queue_.back().when;
    queue_.pop_back();
    happen();
    return true;
  }

 private:
  struct Entry {
    TimePoint when;
    std::uint64_t sequence;
    std::function<void()> happen;
    // The heap's top is the earliest entry.
    bool operator<(const Entry& other) const {
      return std::pair(when, sequence) > std::pair(other.when, other.sequence);
    }
  };

  TimePoint now_ = TimePoint{} + 1000s;
  std::uint64_t sequence_ = 0;
  std::vector<Entry> queue_;  // a heap
};

class BatchSystem {
 public:
  // started: starts the job's workers. ended: they are gone.
  using OnJob = std::function<void(const JobView&)>;
  BatchSystem(const Site& site, const BatchRules& rules, Timeline& time, Day& day)
      : site_(site),
        rules_(rules),
        time_(time),
        day_(day),
        free_gpus_(site.nodes, site.gpus_per_node),
        free_cpus_(site.nodes, site.cpus_per_node) {}

  Result<JobIdentity> submit(std::uint32_t user, const LeaseId& lease, const InstanceId& instance,
                             const Resources& resources, OnJob started, OnJob ended);
  void end(SlurmJobId job, JobEnd how);
  JobView view(SlurmJobId job) const;
  std::vector<JobView> jobs_of(std::uint32_t user) const;
  QueueSnapshot look(const std::vector<JobIdentity>& ours) const;

 private:
  struct Job {
    JobView view;
    std::uint32_t user = 0, priority = 0, node = 0;
    bool waited_for_jobs = false, waited_for_gpus = false;
    TimePoint started{};
    OnJob on_start, on_end;
  };
  struct Use {
    std::uint32_t jobs = 0, gpus = 0;
  };
  using Key = std::pair<std::uint32_t, std::string>;  // user, class

  const ClassRule& rule(const std::string& name) const;
  void plan_soon();
  void plan();
  bool allowed(Job& job);
  bool place(Job& job);
  void start(Job& job);
  void audit(const Job& job);
  Room room_of(const Job& job) const;

  const Site& site_;
  const BatchRules& rules_;
  Timeline& time_;
  Day& day_;
  std::vector<std::uint32_t> free_gpus_, free_cpus_;
  std::map<SlurmJobId, Job> jobs_;
  std::map<std::uint32_t, std::set<SlurmJobId>> of_user_;
  std::set<std::tuple<std::uint32_t, SlurmJobId>> line_;  // by priority (highest first), then by age
  std::map<Key, Use> use_;                                // used for decisions
  std::uint32_t next_id_ = 1;
  bool plan_under_way_ = false;
};

}  // namespace pounce::policy_simulator
