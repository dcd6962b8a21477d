// The calls under way: each from its submission to its end, with what it was sent and what comes back. It carries out
// the core's orders about tasks. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "client/calls.h"
#include "client/daemon_session.h"
#include "client/object_service.h"
#include "client/workers.h"
#include "core/task/actions.h"
#include "model/ids.h"
#include "protocol/messages.h"

namespace pounce::client {

// What came with the event that the core handles: its orders are about that.
struct EventData {
  OutcomeWhole* outcome = nullptr;  // of OutcomeArrived
  std::int64_t submitted_ns = 0;    // of TaskSubmitted: when submit() was entered
};

class CallsUnderWay {
 public:
  CallsUnderWay(Workers& workers, ObjectService& objects, const LeaseCache& leases, EventQueue& events)
      : workers_(workers), objects_(objects), leases_(leases), events_(events) {}

  void add(Call call);
  // Keeps the result, if it is large, as an object with the task's name. False: the task has ended.
  bool keep_result(const TaskId& task);

  WorkerLink* link_of(const TaskId& task) const;  // to the worker that it was sent to; null: none
  std::uint64_t bytes_there(const task::WorkerRef& place, const TaskId& task) const;
  // Those with that place, sent there or to be sent again, that need the object.
  std::vector<TaskId> that_need(const ObjectId& object, const task::WorkerRef& place) const;

  void send(const task::SendTask& order, const EventData& data);
  void acknowledge(const task::Acknowledge& order, const EventData& data);
  void deliver(const task::Deliver& order, const EventData& data);
  void fail(const task::Fail& order);

 private:
  struct UnderWay {
    Call call;
    std::int64_t sent_ns = 0;
    task::WorkerRef place;
    bool keeps = false;
  };

  ObjectId keep_arrived(const task::Acknowledge& order, const Incoming& outcome);
  Timings timings_of(const UnderWay& under_way, const protocol::Outcome& outcome, std::int64_t received_ns) const;
  void end(Ended ended);

  Workers& workers_;
  ObjectService& objects_;
  const LeaseCache& leases_;
  EventQueue& events_;
  std::unordered_map<TaskId, UnderWay> calls_;
};

}  // namespace pounce::client
