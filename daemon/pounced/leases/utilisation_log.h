// What each lease used of what it asked for: by its workers' beats while it lives, and one JSON line in the state folder
// once it has ended (docs/protocol.md §8). A hint for people: a line that cannot be written is only told in the log.
// Thread: loop.
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

// Of one lease's workers together.
struct LeaseUtilisation {
  lease::LeaseView asked;
  std::map<WorkerIndex, protocol::WorkerBeat> workers;  // the last beat of each
  std::map<WorkerIndex, protocol::WorkerGpus> gpus{};    // what the driver of each has told
  TimePoint last_seen{};

  // Times of the mean worker (times the lease's GPUs it is GPU time) and its GPUs, where it knows them; CPU time of all;
  // memory of the largest.
  model::JobFigures figures() const;
  bool held() const;  // one of them, by a notebook
  model::Used used() const;  // the figures, and what is known of the GPUs
};

class UtilisationLog {
 public:
  static constexpr std::uintmax_t kMostBytes = 4 << 20;  // some ten thousand leases; as many again in the file before it

  // The file of ended leases; nothing is written down before.
  void open(const std::string& path, const std::string& default_class);

  void up(const lease::LeaseView& lease);
  // Whether it is the first that says that a notebook holds the lease.
  bool beat(const protocol::WorkerBeat& beat, TimePoint now);
  void gpus(protocol::WorkerGpus told);
  // What its job's comment is to say: nothing yet where none of its workers has told.
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
