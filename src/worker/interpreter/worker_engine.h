// The interpreter's side of the wire, without Python: one data socket for admitted clients, the socketpair to the
// supervisor, the captured output, and core/exec, which decides what to do. It never needs the GIL, so messages,
// cancels, heartbeats and live output go on while user code computes. Thread: the leader token's holder, except where
// noted.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/curve_key.h"
#include "core/exec/exec_core.h"
#include "memory/cgroup.h"
#include "model/worker_report.h"
#include "pounce/result.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/leader_token.h"
#include "transport/zmq_context.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/bulk_lanes.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/data_sockets.h"
#include "worker/interpreter/device_objects.h"
#include "worker/interpreter/memory_relays.h"
#include "worker/interpreter/object_store.h"
#include "worker/interpreter/output_pipe.h"
#include "worker/interpreter/run_job.h"

namespace pounce::worker {

struct ModulesAhead {  // modules to load before a task needs them: those that waiting tasks name, then others
  std::vector<std::string> needs, imports;
};

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

  // The main thread's side. Each is called holding the leader token.
  void runner_ready();
  void runner_away();  // nothing starts until the runner is ready again
  bool has_job() const { return job_.has_value(); }
  std::optional<Job> take_job();
  // Ends the run. No SIGINT is sent for it any more. True when one was sent while it ran.
  bool end_run(const TaskId& task, JobResult result);
  bool cancel_asked(const TaskId& task) const { return ending_ || core_.cancel_asked(task); }
  bool interrupt_sent() const { return interrupt_sent_; }
  // Sends a Jupyter message (JSON, then its buffers) behind everything that was printed so far. False: the reader is
  // far behind.
  bool show(const std::vector<SharedBytes>& message);
  bool is_seen() const;  // the client of the last task is attached, so it sees what is shown
  std::optional<std::vector<std::string>> take_input();  // the client's next message to the running task
  void set_cloudpickle(std::string version);             // before the first job
  // The supervisor told the worker to end, or is gone; any thread, without the leader token.
  bool ending() const { return ending_; }
  // As ending(). Once true, the main thread runs no more tasks: none starts, and nothing interrupts it.
  bool runner_over();
  void tell_state(NamespaceState state);
  void tell_held();                       // a notebook holds this worker
  void tell_loading(std::string module);  // empty: no module
  ModulesAhead take_modules();

  bool wanted() const { return wanted_; }  // a task waits, or the worker ends; any thread, without the leader token
  bool modules_asked() const { return modules_asked_; }  // take_modules() has some; likewise
  // A client waits, and the running loop said that it can be left; likewise.
  bool yield_asked() const { return yield_asked_; }
  void remove_when_acknowledged(const TaskId& task, std::string file) { files_[task] = std::move(file); }
  // The job's, in unix time; 0: not known. Any thread, without the token.
  std::int64_t end_time_s() const { return end_time_s_; }

  const std::shared_ptr<device::Devices>& devices() const { return devices_; }  // any thread

  const std::string& endpoint() const { return sockets_.endpoint(); }
  const PublicKey& key() const { return keys_.public_key; }
  void forward_last_output();  // before destruction: forwards what atexit handlers printed
  void abandon_after_fork() { context_.abandon_after_fork(); }

 private:
  struct Payload {
    FunctionId function;
    KeptFunction function_body{};
    std::vector<ObjectId> objects{};
    std::shared_ptr<transport::Message> frames{};
    std::int64_t received_ns = 0;
    std::string kept_in{};  // folder of a detached task
  };
  struct DataMessage {  // one message of an admitted, attached client
    SessionId session;
    ClientSeat& seat;
    transport::Message& frames;
  };

  WorkerEngine(EngineSetup setup, RunPage page);
  Result<void> bind();

  // The steps of turn() (worker_engine.cc).
  void wait(int wake_fd, TimePoint until);
  void receive_messages();
  void forward_output(TimePoint now, bool to_the_end);
  bool output_blocked() const;
  void flush_outboxes();
  bool outcome_may_wait();
  void tell_activity(TimePoint now);
  bool saving() const { return state_ == NamespaceState::kSaving; }
  TimePoint core_deadline() const;
  void interrupt();
  void nudge(TimePoint now);
  void tell_started();

  // Messages (data_messages.cc, object_messages.cc, supervisor_messages.cc).
  void handle(transport::Received message);
  std::optional<SessionId> speaker(const transport::Received& message, const Result<protocol::Header>& header);
  void on_attach(const protocol::Attach& attach, const SessionId& session, ClientSeat& seat, const std::string& route);
  void on(const protocol::Beat& beat, DataMessage data_message);
  void on(const protocol::Several& several, DataMessage data_message);
  void on(const protocol::Function& function, DataMessage data_message);
  void on(const protocol::Object& object, DataMessage data_message);
  void on(const protocol::Chunk& chunk, DataMessage data_message);
  void on(const protocol::Serve& serve, DataMessage data_message);
  void on(const protocol::Drop& drop, DataMessage data_message);
  void on(const protocol::Task& task, DataMessage data_message);
  void on(const protocol::Ack& ack, DataMessage data_message);
  void on(const protocol::Query& query, DataMessage data_message);
  void on(const protocol::CancelTask& cancel, DataMessage data_message);
  void on(const protocol::Input& input, DataMessage data_message);
  template <class Unexpected>
  void on(const Unexpected& message, DataMessage data_message);
  bool same_cloudpickle(ClientSeat& seat);
  std::vector<protocol::Reached> reached(const SessionId& session, const ClientSeat& seat) const;
  void refuse(ClientSeat& seat, Error error);
  void tell_not_kept(ClientSeat& seat, Error error, const ObjectId& object);
  void tell_whole(ClientSeat& seat, const ObjectId& object);
  void receipt(const Result<ObjectStore::Receipt>& receipt, const SessionId& session, const ObjectId& object,
               ClientSeat& seat);
  void take_in(const SessionId& session, ClientSeat& seat, const MemoryRelays::Wanted& wanted,
               std::shared_ptr<memory::MemoryBlock> block = {});
  Result<ObjectOffer> offer_of(const MemoryRelays::Wanted& wanted, std::shared_ptr<memory::MemoryBlock> block) const;
  Result<void> place(const SessionId& session, const ObjectId& object);
  void follow_devices();
  void begin_fetch(const SessionId& session, ClientSeat& seat, const MemoryRelays::Wanted& wanted);
  void follow_memory();
  void keep_result(const DataMessage& data_message, const TaskId& task, JobResult result);
  void follow_kept_results();
  void follow_lanes();
  void follow(const SessionId& session, const ObjectId& object, bulk::Event& event);
  void leave_lane(const SessionId& session);
  void leave_relays(const SessionId& session);
  void read_supervisor();
  void admit(const protocol::Admit& admit);
  void dismiss(const SessionId& session);
  void run_detached(const protocol::RunDetached& order);
  void end();
  void give_back_job();
  void tell_leaving(ClientSeat& seat);
  void end_if_idle();
  bool owes() const;

  // The actions of core/exec (task_actions.cc).
  void tell_core(const exec::Event& event);
  void perform(const exec::KeepTask& action);
  void perform(const exec::StartTask& action);
  void perform(const exec::TellStarted& action);
  void perform(const exec::InterruptTask& action);
  void perform(const exec::GiveUp& action);
  void perform(const exec::FailTask& action);
  void perform(const exec::SendOutcome& action);
  void perform(const exec::AnswerStates& action);
  void perform(const exec::ForgetTask& action);
  void perform(const exec::TellActivity& action);
  bool offer_on_lane(const SessionId& session, OutcomeMessage& message);
  bool ended_by_us(const TaskId& task, const JobResult& result) const;
  bool inputs_here(const protocol::Task& task) const;
  Job job_of(const TaskId& task, Payload payload);
  std::optional<Error> not_shared(const TaskId& task, const std::string& folder) const;
  Job named_job(const TaskId& task, std::string folder);
  void tell_detached_end(const TaskId& task);

  const EngineSetup setup_;
  KeyPair keys_;
  transport::Context context_;
  DataSockets sockets_;
  BulkLanes lanes_;
  MemoryRelays memory_relays_;
  transport::PollSet poll_{transport::PollSet::Wait::kSpins};
  RecordSocket supervisor_;
  std::array<OutputPipe, 2> pipes_;
  RunPage page_;
  std::string cloudpickle_, host_, directory_;

  exec::ExecCore core_;
  Clients clients_;
  ObjectStore store_;
  KeptResults kept_results_;
  std::shared_ptr<device::Devices> devices_;
  DeviceObjects device_objects_{devices_};
  FunctionStore functions_;
  std::unordered_map<TaskId, Payload> payloads_;
  std::unordered_map<TaskId, KeptOutcome> outcomes_;
  std::unordered_map<TaskId, std::string> files_;  // no longer needed once the client has the outcome
  std::set<TaskId> named_;                         // detached tasks: pounced hears of their ends
  UniqueFd named_log_;                             // log of the running detached task
  std::optional<Payload> arriving_;                // the Task message being handled
  std::optional<Job> job_;                         // for the main thread to take
  std::int64_t running_received_ns_ = 0;
  std::optional<TaskId> started_untold_;
  SessionId output_session_;  // session of the last task; threads that print later print to it too
  TaskId output_task_;
  std::deque<std::vector<std::string>> inputs_;  // for that task

  bool more_ = false;       // a turn's budget was used up: do not sleep before the next turn
  bool blocked_ = false;    // an outbox could not be emptied
  TimePoint flushed_at_{};  // last time the outboxes were flushed
  bool interrupt_sent_ = false;
  int nudges_left_ = 0;
  TimePoint nudge_at_ = TimePoint::max();
  std::atomic<bool> ending_ = false;
  bool stays_ = false;      // told to leave if idle, but not idle; the answer is not sent yet
  bool owing_ = false;      // it stays because an outcome is on its way to its client
  TimePoint outcome_at_{};  // when the last outcome was sent
  bool runner_over_ = false;
  std::atomic<bool> wanted_ = false, yield_asked_ = false, modules_asked_ = false;
  ModulesAhead modules_;
  std::string loading_;
  NamespaceState state_ = NamespaceState::kSaved;
  std::atomic<std::int64_t> end_time_s_ = 0;
  bool activity_changed_ = false, held_ = false;
  std::uint32_t activity_ = 0;
  TimePoint activity_told_{};
};

std::int64_t to_ns(TimePoint time);

}  // namespace pounce::worker
