// The workers that this client is linked to, or tries to reach. Thread: the leader token's holder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "client/worker_link.h"
#include "core/task/events.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/zmq_context.h"

namespace pounce::client {

// Where pounced says that a worker is.
struct Grant {
  Epoch epoch;
  std::string endpoint;
  PublicKey key;
};

class Workers {
 public:
  struct Worker {
    Epoch epoch;
    std::unique_ptr<WorkerLink> link;
    protocol::Attached who;
    std::int64_t attached_ns = 0;  // the first time
    TaskId shown{};                // the task of its last message
  };

  // attach: what each worker is told of us.
  Workers(transport::Context& context, const KeyPair& keys, protocol::Attach attach)
      : context_(context), keys_(keys), attach_(std::move(attach)) {}

  // Sets the modules that later attached workers load ahead.
  void set_modules(std::vector<std::string> needs, std::vector<std::string> imports) {
    attach_.needs = std::move(needs), attach_.imports = std::move(imports);
  }

  void connect(const task::WorkerRef& place, const Grant& grant) {
    workers_[place] =
        Worker{grant.epoch,
               std::make_unique<WorkerLink>(context_, keys_, grant.endpoint, grant.key, attach_, Clock::now()),
               {},
               0,
               {}};
  }
  // False: there is none. Its link lives until close_retired(), for a loop may be using it.
  bool disconnect(const task::WorkerRef& place) {
    auto worker = workers_.extract(place);
    if (worker) retired_.push_back(std::move(worker.mapped().link));
    return !worker.empty();
  }
  void close_retired() { retired_.clear(); }

  const std::map<task::WorkerRef, Worker>& all() const { return workers_; }
  Worker* find(const task::WorkerRef& place) {
    const auto found = workers_.find(place);
    return found == workers_.end() ? nullptr : &found->second;
  }
  WorkerLink* link_at(const task::WorkerRef& place) const {  // null: it is gone
    const auto found = workers_.find(place);
    return found == workers_.end() ? nullptr : found->second.link.get();
  }
  // The link to the worker whose last message that task showed; null: none.
  WorkerLink* link_of_shown(const TaskId& task) const {
    const auto found = std::ranges::find_if(workers_, [&](const auto& entry) { return entry.second.shown == task; });
    return found == workers_.end() ? nullptr : found->second.link.get();
  }

  // A connection on which we sent since the last look may have something to read.
  bool has_stale() const {
    return std::ranges::any_of(workers_,
                               [](const auto& entry) { return entry.second.link->connection().descriptors().stale; });
  }
  // A worker has more than one task: it goes on without us, and its outcomes come several at a time.
  bool any_has_several() const {
    return std::ranges::any_of(workers_, [](const auto& entry) { return entry.second.link->tasks().has_several(); });
  }
  TimePoint next_deadline() const {
    TimePoint next = TimePoint::max();
    for (const auto& [place, worker] : workers_) next = std::min(next, worker.link->next_deadline());
    return next;
  }

 private:
  transport::Context& context_;
  const KeyPair& keys_;
  protocol::Attach attach_;
  std::map<task::WorkerRef, Worker> workers_;
  std::vector<std::unique_ptr<WorkerLink>> retired_;
};

}  // namespace pounce::client
