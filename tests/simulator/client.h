// A notebook's client: it wants workers, sends tasks to those it is granted, and loses some.
#pragma once

#include <map>
#include <optional>

#include "core/lease/actions.h"
#include "core/lease/events.h"
#include "simulator/timeline.h"

namespace pounce::simulator {

class World;

class Client {
 public:
  Client(World& world, const InstanceId& instance, const SessionId& id);

  void grant(const lease::GrantWorker& granted);
  void lease_ended(const lease::TellLeaseEnded& ended);
  void request_failed(const lease::TellRequestFailed& failed);
  void task_ended(RequestId request, bool done);

  const SessionId& id() const { return id_; }
  bool alive() const { return alive_; }
  std::uint32_t waiting() const;
  std::uint32_t running() const;
  std::uint32_t done = 0, lost = 0, failed = 0, asked = 0;

 private:
  struct Request {
    Resources resources;
    std::uint32_t waiting = 0, running = 0;
    std::optional<LeaseId> holds;
    std::uint32_t generation = 0;
    bool told_end = false;
  };

  void second();
  void release();
  void new_tasks();
  void send(RequestId id);
  void tell_demand();
  template <class E>
  void say(E event);

  World& world_;
  const InstanceId instance_;
  const SessionId id_;
  bool alive_ = true;
  std::uint64_t daemon_life_ = 0;
  std::map<RequestId, Request> requests_;
  TimePoint spoken_{};
  int age_s_ = 0;
};

}  // namespace pounce::simulator
