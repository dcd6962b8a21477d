// The client's engine: core/task decides, this does. It turns the daemon session, the workers, the objects and the
// calls under way, tells the core what happened and hands each of the core's orders to the part that it is for. It
// pushes what Python must know to the EventQueue and never calls out. Thread: the leader token's holder.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/calls.h"
#include "client/calls_under_way.h"
#include "client/daemon_session.h"
#include "client/object_service.h"
#include "client/workers.h"
#include "core/task/machine.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/leader_token.h"
#include "transport/zmq_context.h"

namespace pounce::client {

struct Setup {
  protocol::OpenSession session;
  protocol::Attach attach;  // versions; the session id is filled in
};

// The descriptors of one turn.
class TurnPoll {
 public:
  void begin(int wake_fd);
  void add(const transport::Descriptors& descriptors);
  // False: none changed until then, or a signal came. `spins`: what it waits for may come within microseconds.
  bool wait(TimePoint until, bool spins);
  void clear_changes();
  bool changed(int fd) const;
  const std::vector<pollfd>& items() const { return polled_; }

 private:
  transport::Spin spin_;
  std::vector<pollfd> polled_;
};

class Engine final : public transport::Engine {
 public:
  Engine(transport::Context& context, KeyPair keys, Setup setup, EventQueue& events);
  ~Engine() override;

  void turn(int wake_fd, TimePoint until) override;
  TimePoint next_deadline() const override;
  std::optional<std::vector<pollfd>> waited_for() override;
  // The last turn ended without a message: a signal or a deadline ended it. Any thread.
  bool last_turn_was_quiet() const { return quiet_; }

  Result<void> set_daemon(const protocol::EndpointFile& endpoint) { return daemon_.connect(endpoint); }
  void daemon_failed(const Error& error);

  Result<void> submit(Call call);  // kTooLarge
  void cancel(const TaskId& task, std::chrono::milliseconds grace, bool only_if_queued);
  // So many more tasks will come, or fewer. Returns how many workers serve such, or are requested.
  std::uint32_t expect(const Resources& resources, std::int64_t tasks);
  // That would begin the next such task at once.
  std::uint32_t free_workers(const Resources& resources) const { return machine_.free_workers(resources); }
  bool move(const TaskId& task, const Resources& resources);  // false: it has been sent to a worker, or has ended
  std::optional<task::TaskState> state(const TaskId& task) const { return machine_.state(task); }
  std::optional<protocol::LeaseStatus> lease_status(const TaskId& task) const;
  std::vector<protocol::LeaseStatus> leases_of(const TaskId& task) const;  // all that serve its queue
  std::vector<protocol::LeaseStatus> leases() const { return daemon_.leases().all(); }
  // Sets the modules that later attached workers load ahead.
  void set_modules(std::vector<std::string> needs, std::vector<std::string> imports) {
    workers_.set_modules(std::move(needs), std::move(imports));
  }
  std::optional<RequestId> request(const Resources& resources) const { return machine_.request_of(resources); }

  // Sends input to the code of a running task, which requested it; after the task's end, to the worker that showed
  // its last message.
  void tell(const TaskId& task, const std::vector<Bytes>& message);
  // Asks the first worker of a lease what lives there. False: it is not connected, and nothing was sent.
  bool look(const LeaseId& lease, std::uint32_t question, const Bytes& text);
  // From now on the connections of an ended lease are read until its workers close them, for this long at most.
  void read_to_the_end(Duration most) { daemon_.held().read_to_the_end(most); }
  bool reads_on() const { return !daemon_.held().empty(); }  // after the end of a lease or the death of a worker
  HolderNumber hold_object(const ObjectId& id, Object object, bool send_now) {
    return objects_.hold(id, std::move(object), send_now);
  }
  void release_object(const ObjectId& id, HolderNumber holder) { objects_.release(id, holder); }

  // For calls that wait for the task: its result, if it is large, stays here as an object with the task's name.
  // False: the task has ended.
  bool keep_result(const TaskId& task) { return calls_.keep_result(task); }
  // Of an ended task: from here on the caller holds it.
  std::optional<KeptResult> take_kept(const TaskId& task) { return objects_.take_kept(task); }

  // Sends the question unless this connection to pounced has it already: `last_opening` is what the previous call
  // returned, at first 0. Returns the opening that has it; 0: there is none now, and the engine requests one.
  std::uint32_t ask(const protocol::Header& question, std::uint32_t last_opening) {
    return daemon_.ask(question, last_opening);
  }
  void close();  // ends every task; messages to pounced still have to be pumped out
  bool closed_for_good(TimePoint since) const { return daemon_.closed_for_good(since); }

 private:
  bool has_stale() const;
  void collect(int wake_fd);
  void wait(int wake_fd, TimePoint until);
  bool service(TimePoint now);
  void request_daemon();

  void on_daemon(const control::Event& event);
  void on_link(const task::WorkerRef& place, LinkEvent event);
  void on_object_refused(const task::WorkerRef& place, ObjectRefused& refused);

  void happened(const task::Event& event, const EventData& data = {});
  void perform(const task::Action& action, const EventData& data);

  const KeyPair keys_;
  const bool is_relay_;  // this session takes the result of a detached task (docs/protocol.md §10)
  EventQueue& events_;
  task::Machine machine_;
  Workers workers_;
  DaemonSession daemon_;
  ObjectService objects_;
  CallsUnderWay calls_;
  TurnPoll poll_;
  std::atomic<bool> quiet_ = false;
};

}  // namespace pounce::client
