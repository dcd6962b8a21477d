// What each lease used of what it asked for: by its workers' beats while it lives, and one JSON line in the state folder
// once it has ended (docs/protocol.md §8). A hint for people: a line that cannot be written is only told in the log.
// Thread: loop.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/lease/lease_core.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// Of one lease's workers together.
struct LeaseUse {
  lease::LeaseView asked;
  std::map<WorkerIndex, protocol::WorkerBeat> workers;  // the last beat of each
  TimePoint heard{};

  std::int64_t busy_ms() const;  // of the mean worker: times the lease's GPUs it is GPU time
  std::int64_t idle_ms() const;
  std::int64_t cpu_ms() const;      // of all
  std::uint64_t memory_mib() const;  // of the largest
  std::int32_t gpu_percent() const;  // of the mean worker that knows it; -1: none does
  std::uint64_t gpu_memory_mib() const, gpu_memory_total_mib() const;  // of the largest; 0: not known
  std::string suggestion(bool over) const;
};

class UsageLog {
 public:
  // The file of ended leases; nothing is written down before.
  void open(const std::string& path, const std::string& default_class);

  void up(const lease::LeaseView& lease);
  void beat(const protocol::WorkerBeat& beat, TimePoint now);
  // What its job's comment is to say: nothing yet where none of its workers has told.
  std::optional<std::string> note(const InstanceId& instance, const LeaseId& lease, TimePoint now) const;
  std::optional<Incarnation> job(const LeaseId& lease) const;
  void ended(const LeaseId& lease, const std::string& reason, std::int64_t now_s);

  const LeaseUse* of(const LeaseId& lease) const;
  const std::deque<std::string>& recent() const { return recent_; }  // lines of those that ended, oldest first

 private:
  std::string path_, default_class_;
  std::map<LeaseId, LeaseUse> live_;
  std::deque<std::string> recent_;
};

}  // namespace pounce::daemon
