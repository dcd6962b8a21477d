// The client's engine: core/task decides, this does. It owns the connections to pounced and to the workers, the calls
// under way and the objects, and translates between messages and the core's events and actions. It pushes what Python
// must know to the NewsQueue and never calls out. Thread: the leader token's holder.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "client/calls.h"
#include "client/object_relay.h"
#include "client/objects.h"
#include "client/worker_link.h"
#include "control/control_connection.h"
#include "core/task/machine.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/leader_token.h"
#include "transport/zmq_context.h"

namespace pounce::client {

// What pounced told about each lease, for the waiting user and for the parts of a call's time.

class LeaseCache {
 public:
  void update(const protocol::LeaseStatus& status, std::int64_t now_ns);
  void granted(const LeaseId& lease, std::int64_t now_ns) { started_ns_.try_emplace(lease, now_ns); }
  void forget(const LeaseId& lease);

  // The news of that request that a waiting user wants to see: the status of the lease that was told of last.
  std::optional<protocol::LeaseStatus> of_request(RequestId request) const;
  std::optional<protocol::LeaseStatus> of_lease(const LeaseId& lease) const;
  std::vector<protocol::LeaseStatus> all() const;
  // An error that names a lease names its job, too.
  Error with_job(Error error) const;
  // When we first heard that its job runs; 0: not yet.
  std::int64_t started_ns(const LeaseId& lease) const;

 private:
  std::map<LeaseId, protocol::LeaseStatus> status_;
  std::map<RequestId, LeaseId> latest_;
  std::map<LeaseId, std::int64_t> started_ns_;
};

struct Setup {
  protocol::OpenSession session;
  protocol::Attach attach;  // versions; the session id is filled in
};

class Engine final : public transport::Engine {
 public:
  Engine(transport::Context& context, KeyPair keys, Setup setup, NewsQueue& news);
  ~Engine() override;

  void turn(int wake_fd, TimePoint until) override;
  TimePoint next_deadline() const override;
  // The last turn ended without a message: a signal or a deadline ended it. Any thread.
  bool last_turn_was_quiet() const { return quiet_; }

  Result<void> set_daemon(const protocol::EndpointFile& endpoint);
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
  std::vector<protocol::LeaseStatus> leases() const { return cache_.all(); }
  // Sets the modules that later attached workers load ahead.
  void set_modules(std::vector<std::string> needs, std::vector<std::string> imports) {
    needs_ = std::move(needs), imports_ = std::move(imports);
  }
  std::optional<RequestId> request(const Resources& resources) const { return machine_.request_of(resources); }

  // Sends input to the code of a running task, which requested it; after the task's end, to the worker that showed
  // its last message.
  void tell(const TaskId& task, const std::vector<Buffer>& message);
  // From now on the connections of an ended lease are read until its workers close them, for this long at most.
  void read_to_the_end(Duration most) { read_to_the_end_ = most; }
  bool reads_on() const { return !held_events_.empty(); }  // after the end of a lease or the death of a worker
  HolderNumber hold_object(const ObjectId& id, Object object, bool send_now);
  void release_object(const ObjectId& id, HolderNumber holder);

  // For calls that wait for the task: its result, if it is large, stays here as an object with the task's name.
  // False: the task has ended.
  bool keep_result(const TaskId& task);
  struct KeptResult {
    ObjectId id;
    HolderNumber holder = 0;
    std::uint64_t bytes = 0;
  };
  std::optional<KeptResult> take_kept(const TaskId& task);  // of an ended task: from here on the caller holds it

  // Sends the question unless this connection to pounced has it already: `last_opening` is what the previous call
  // returned, at first 0. Returns the opening that has it; 0: there is none now, and the engine requests one.
  std::uint32_t ask(const protocol::Header& question, std::uint32_t last_opening);
  void close();  // ends every task; messages to pounced still have to be pumped out
  bool closed_for_good(TimePoint since) const { return daemon_.down() || daemon_.seen_after(since); }

 private:
  struct UnderWay {
    Call call;
    std::int64_t sent_ns = 0;
    task::Place place;
    bool keeps = false;
  };
  struct Grant {
    Epoch epoch;
    std::string endpoint;
    PublicKey key;
  };
  struct Peer {
    Epoch epoch;
    std::unique_ptr<WorkerLink> link;
    protocol::Attached who;
    std::int64_t attached_ns = 0;  // the first time
    TaskId shown{};                // the task of its last message
  };
  // A worker's death or a lease's end that may have overtaken results still on their way. The core is told of it when
  // the connections have been read to their end, or when it is due.
  struct HeldEvent {
    task::Event event;
    LeaseId lease;
    std::vector<task::Place> places;
    TimePoint due;
  };

  void wait(int wake_fd, TimePoint until);
  bool has_stale() const;
  void service(TimePoint now);
  bool changed(int fd) const;
  void happened(const task::Event& event);
  void perform(const task::Action& action);
  void connect(const task::Connect& order);
  void disconnect(const task::Place& place);
  void send_cancel(const task::SendCancel& order);
  void fail(const task::Fail& order);
  void send_task(const task::SendTask& order);
  void send_ahead(const ObjectId& id);
  std::uint64_t bytes_there(const task::Place& place, const TaskId& task);
  void acknowledge(const task::Acknowledge& order);
  ObjectId keep_arriving(const task::Acknowledge& order);
  void deliver(const TaskId& task);
  void end(Ended ended);
  Timings timings_of(const UnderWay& under_way, const protocol::Outcome& outcome, std::int64_t received_ns) const;
  void send_demand(const task::SendDemand& order);
  void tell_reach(const task::TellReach& order);

  void on_daemon(const control::Event& event);
  void on_message(const protocol::Header& header);
  void on_granted(const protocol::Granted& granted);
  void on_status(const protocol::LeaseStatus& status);
  void hold_back(task::Event event, Duration most, const LeaseId& lease, std::optional<WorkerIndex> worker);
  bool may_be_told(const HeldEvent& held, TimePoint now);
  void release_held(TimePoint now);
  void on_link(const task::Place& place, LinkEvent event);
  void on_object_refused(const task::Place& place, ObjectRefused& refused);
  void on_outcome(const task::Place& place, OutcomeWhole& outcome);
  void drop_unneeded(const task::Place& place, WorkerLink& link);
  void let_go(const ObjectId& id);
  void forget_unheld(const ObjectId& id);
  void ask_for_daemon();
  void want_daemon();
  WorkerLink* link_at(const task::Place& place);

  transport::Context& context_;
  const KeyPair keys_;
  const Setup setup_;
  NewsQueue& news_;
  task::Machine machine_;
  control::ControlConnection daemon_;
  LeaseCache cache_;
  Objects objects_;
  ObjectRelay relay_{objects_, [this](const task::Place& place) { return link_at(place); },
                     [this](const ObjectId& id) { let_go(id); }};
  std::map<task::Place, Grant> grants_;
  std::map<task::Place, Peer> peers_;
  std::vector<std::unique_ptr<WorkerLink>> retired_;  // closed after the loop that may be using them
  std::unordered_map<TaskId, UnderWay> under_way_;
  std::unordered_map<TaskId, KeptResult> kept_results_;  // until they are taken
  std::vector<std::weak_ptr<memory::View>> shared_;      // of results
  std::vector<HeldEvent> held_events_;
  Duration read_to_the_end_{};
  std::vector<std::string> needs_, imports_;
  OutcomeWhole* arriving_ = nullptr;  // set while the core handles it
  std::int64_t now_ns_ = 0;           // of the submit() under way, else 0
  bool awaits_daemon_ = false, closed_ = false;
  std::atomic<bool> quiet_ = false;
  transport::Spin spin_;
  std::vector<pollfd> polled_;  // of this turn
  bool came_ = false;           // a message came in this turn
};

}  // namespace pounce::client
