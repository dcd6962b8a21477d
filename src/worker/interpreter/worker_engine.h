// The interpreter's side of the wire, without Python: it waits for clients, the supervisor, lanes and pipes, and hands
// what comes to its owner: clients' introductions, objects, tasks, output, the supervisor's link. It never needs the
// GIL, so messages, cancels, heartbeats and live output go on while user code computes. Thread: the leader token's
// holder, except where noted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/curve_key.h"
#include "base/unique_fd.h"
#include "memory/cgroup.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/leader_token.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/attach_handler.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/live_output.h"
#include "worker/interpreter/looks.h"
#include "worker/interpreter/object_service.h"
#include "worker/interpreter/supervisor_link.h"
#include "worker/interpreter/task_runner.h"

namespace pounce::worker {

struct EngineSetup {
  UniqueFd supervisor, output, errors, run_page;  // socketpair; read ends of the pipes behind 1 and 2; RunPage's memfd
  int log_fd = -1;                                // the job's own output, where captured output goes too
  std::string facing;                             // the daemon's host
  std::string node, devices, python;              // python: "3.11"
  std::function<void()> interrupt;                // sends SIGINT to the main thread, which runs the task
  std::function<void()> nudge{};                  // ends the system call that the main thread is in
  // Where to listen: "ib0", "50000-50999"; empty: the interface that faces the daemon, any port.
  std::string interface{}, ports{};
  std::size_t keep_bytes = std::size_t{64} << 20;  // memory kept for the next objects
  std::vector<std::string> package_folders{};      // where NVIDIA's libraries may lie, besides the loader's places
  memory::RoomFor room_for = [groups = memory::MemoryEvents::of_this_process()](std::uint64_t wanted) {
    return groups.room(wanted);
  };
};

class WorkerEngine final : public transport::Engine {
 public:
  // Binds, maps the page and sends Ready to the supervisor.
  static Result<std::unique_ptr<WorkerEngine>> start(EngineSetup setup);
  ~WorkerEngine() override;

  void turn(int wake_fd, TimePoint until) override;
  TimePoint next_deadline() const override;

  // What the main thread talks to, holding the leader token where the owner does not say otherwise.
  TaskRunner& tasks() { return tasks_; }
  LiveOutput& output() { return output_; }
  Looks& looks() { return looks_; }
  AttachHandler& attach_handler() { return attach_handler_; }
  SupervisorLink& supervisor() { return supervisor_; }
  void tell_state(NamespaceState state);
  void abandon_after_fork() { sockets_.abandon_after_fork(); }

  // Constant; any thread.
  const std::shared_ptr<device::Devices>& devices() const { return objects_.devices(); }
  const std::string& endpoint() const { return sockets_.endpoint(); }
  const PublicKey& key() const { return sockets_.key(); }

 private:
  WorkerEngine(EngineSetup setup, RunPage page);
  Result<void> bind(const DataSockets::Where& where);

  void wait(int wake_fd, TimePoint until);
  void receive_messages();
  void handle(transport::Received message);
  std::optional<SessionId> speaker(const transport::Received& message, const Result<protocol::Header>& header);
  void dispatch(const protocol::Header& header, const DataMessage& message);
  void unpack(const protocol::Several& several, const DataMessage& message);
  void read_supervisor();
  void obey(const protocol::Header& order);
  void dismiss(const SessionId& session);
  void end_if_idle();
  void tell_activity(TimePoint now);

  DataSockets sockets_;
  transport::PollSet poll_{transport::PollSet::Wait::kSpins};
  SupervisorLink supervisor_;
  ObjectService objects_;
  Clients clients_;
  LiveOutput output_;
  Looks looks_;
  TaskRunner tasks_;
  AttachHandler attach_handler_;
  bool more_messages_ = false;  // a turn's budget was used up: the next turn does not sleep
};

}  // namespace pounce::worker
