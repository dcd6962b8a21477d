// Takes the place of a kernel for detached tasks: each has a session of its own in the lease core, so it gets a
// lease, runs to its end and gives the lease back whether or not a kernel lives (docs/states.md, "Detached tasks").
// This class handles names, digests and records; calls and outcomes are files between kernel and worker.
// Thread: loop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/lease/actions.h"
#include "pounced/daemon_state.h"
#include "pounced/detached/detached_folder.h"
#include "pounced/leases/core_driver.h"
#include "pounced/net/control_channel.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct DetachedSetup {
  std::set<std::string> instances;  // ours and our previous instances', in hex
  std::string instance;
  std::string folder, checkpoints;
  std::chrono::milliseconds keep;
  std::chrono::milliseconds keep_outcome;  // how long a relayed task's worker keeps its outcome for a relay
  std::chrono::milliseconds relay_silence;
};

class DetachedTasks {
 public:
  DetachedTasks(DetachedSetup setup, transport::EventLoop& loop, DaemonState& state, CoreDriver& driver,
                ControlChannel& control)
      : setup_(std::move(setup)),
        loop_(loop),
        state_(state),
        driver_(driver),
        control_(control),
        folder_(setup_.folder),
        checkpoints_(setup_.checkpoints) {}
  ~DetachedTasks() { loop_.unwatch(timer_); }

  void restore();                          // unfinished tasks of earlier processes; call after JournalRead
  bool take(const lease::Action& action);  // true: it was for a detached task and is carried out

  void hear(Peer& client, const protocol::SubmitDetached& message);
  void hear(Peer& client, const protocol::DetachedAsk& message);
  void hear(Peer& client, const protocol::CancelDetached& message);
  void hear(Peer& client, const protocol::RelayDetached& message);
  void hear(Peer& relay, const protocol::OpenSession& message);
  void hear(Peer& relay, const protocol::Demand& message);
  void hear(Peer& worker, const protocol::DetachedEnded& message);
  void hear(const lease::WorkerSeen& beat);

  bool keeps(const SessionId& session) const { return live_.contains(session); }

  // Forgets the checkpoints of tasks without a name: their client is gone, and nothing runs them again.
  void forget_checkpoints_of(const SessionId& session) const { checkpoints_.remove_all_of(session); }
  static SessionId session_of(const TaskId& task);  // the same 128 random bits: the session has the task's id

 private:
  static constexpr RequestId kRequest{1};

  struct Live {  // a task that has not ended
    protocol::DetachedRecord record;
    std::map<WorkerIndex, lease::WorkerLink> links{};  // of the workers that know its session
    TimePoint relay_claimed{}, last_use{};             // only while it is relayed
    std::optional<lease::GrantWorker> put_off{};       // a grant whose record could not be written yet
  };

  // The lease core's orders for these sessions.
  bool act(Live& live, const lease::AdmitClient& order);
  bool act(Live& live, const lease::GrantWorker& order);
  std::string key_of(const lease::GrantWorker& order) const;
  bool act(Live& live, const lease::TellStatus& order);
  bool act(Live& live, const lease::TellWorkerDown& order);
  bool act(Live& live, const lease::TellLeaseEnded& order);
  bool act(Live& live, const lease::TellRequestFailed& order);
  template <class Other>
  bool act(Live&, const Other&) {
    return false;  // as for any session
  }

  void begin(Live& live);
  void put_off(Live& live, const lease::GrantWorker& order, const std::string& why);
  void demand(const Live& live);
  void run(Live& live);
  void wait_again(Live& live);
  void lost(Live& live, Error why);
  void relay(Live& live, const Error& why);
  TimePoint relay_last_seen(const Live& live);
  void end_unfetched_tasks();
  void finish(Live& live, const protocol::DetachedRow& end);
  void fail(Live& live, Error why);
  void publish(const protocol::DetachedRow& row);
  Result<void> save(const protocol::DetachedRecord& record);
  void answer(Peer& client, std::uint32_t question, std::vector<protocol::DetachedRow> rows, Error error = {});
  void look_after();  // periodic: repeats demands that the core may have forgotten, removes what is too old

  bool relays(const SessionId& session) const;
  Live* find(const SessionId& session);
  Live* find(const std::string& name);

  const DetachedSetup setup_;
  transport::EventLoop& loop_;
  DaemonState& state_;
  CoreDriver& driver_;
  ControlChannel& control_;
  DetachedFolder folder_;
  const CheckpointFolder checkpoints_;  // also those of tasks without a name whose kernel is gone
  std::map<SessionId, Live> live_;
  transport::EventLoop::WatchId timer_ = 0;
};

}  // namespace pounce::daemon
