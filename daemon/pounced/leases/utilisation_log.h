// Records what each lease used of its resources: from its workers' beats while it lives, and as one JSON line in the
// state folder once it has ended (docs/protocol.md §8). The record is a hint for users: a failed write is only
// logged. Thread: loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/lease/lease_core.h"
#include "model/status_document.h"
#include "protocol/messages.h"

namespace pounce::daemon {

// The use of all workers of one lease.
struct LeaseUtilisation {
  lease::LeaseView view;
  std::map<WorkerIndex, protocol::WorkerBeat> workers;  // the last beat of each
  std::map<WorkerIndex, protocol::WorkerGpus> gpus{};    // the last report of each worker's driver
  TimePoint last_seen{};

  // Times are means over the workers (multiplied by the lease's GPUs they give GPU time). GPU load is the mean over
  // the workers that know it, CPU time the sum, memory the largest worker's.
  model::JobFigures figures() const;
  bool held() const;  // a notebook holds at least one worker
  model::Used used() const;  // the figures and the GPU reports
};

class UtilisationLog {
 public:
  // Some ten thousand leases; the file before it holds as many again.
  static constexpr std::uintmax_t kMostBytes = 4 << 20;

  // Sets the file of ended leases and reads the recent ones. Nothing is written before this call.
  void open(const std::string& path, const std::string& default_class);

  void up(const lease::LeaseView& lease);
  // True: this beat is the first to say that a notebook holds the lease.
  bool beat(const protocol::WorkerBeat& beat, TimePoint now);
  void gpus(protocol::WorkerGpus report);
  // The text for its job's comment; nullopt until one of its workers has reported.
  std::optional<std::string> note(const InstanceId& instance, const LeaseId& lease, TimePoint now) const;
  std::optional<JobIdentity> job(const LeaseId& lease) const;
  void ended(const LeaseId& lease, ErrorCode code, const Cause& why, std::int64_t now_s);
  void forget(const std::function<bool(const LeaseId&)>& which);

  const LeaseUtilisation* of(const LeaseId& lease) const;
  const std::map<LeaseId, LeaseUtilisation>& live() const { return live_; }
  const std::deque<model::EndedLease>& recent() const { return recent_; }  // oldest first

 private:
  std::string path_, default_class_;
  std::map<LeaseId, LeaseUtilisation> live_;
  void remember(model::EndedLease ended);

  std::deque<model::EndedLease> recent_;
};

}  // namespace pounce::daemon
