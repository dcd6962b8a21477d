// The first process of the job, or one of its worker group: keeps one interpreter alive, tells the daemon what becomes
// of it, tells it which clients it may serve, and ends the whole process tree when the job's time is over. It is not on
// the data path. Thread: loop.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "device/gpu_meter.h"
#include "memory/cgroup.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "worker/supervisor/daemon_link.h"
#include "worker/supervisor/interpreter.h"
#include "worker/supervisor/process_tree.h"
#include "worker/supervisor/report_pipe.h"
#include "worker/supervisor/supervisor_options.h"
#include "worker/supervisor/worker_group.h"

namespace pounce::worker {

// When neither the daemon nor any client can be heard any more, the job ends itself, so that a GPU is never held for a
// user who is gone: soon when nothing runs, later when something does, and after a day while that is meant to go on
// without its user. Pure. Thread: the owner's.
class Watchdog {
 public:
  Watchdog(std::chrono::seconds idle, std::chrono::seconds busy, TimePoint start)
      : idle_(idle), busy_(busy), last_seen_(start) {}

  void seen(TimePoint when) { last_seen_ = std::max(last_seen_, when); }
  void set_busy(bool busy, bool kept = false) { is_busy_ = busy, is_kept_ = busy && kept; }
  TimePoint deadline() const { return last_seen_ + (is_kept_ ? std::max(busy_, kKept) : is_busy_ ? busy_ : idle_); }

 private:
  static constexpr std::chrono::seconds kKept = std::chrono::hours(24);

  const std::chrono::seconds idle_, busy_;
  TimePoint last_seen_;
  bool is_busy_ = false, is_kept_ = false;
};

class Supervisor {
 public:
  // Starts the interpreter first, since that takes the most time.
  Supervisor(SupervisorOptions options, Environment environment, std::string host_name, rlimit core_limit);
  ~Supervisor();

  SupervisorEnd run();  // until there is nothing left to do

 private:
  // The start and death of interpreters (supervisor_interpreter.cc).
  void start_interpreter();
  void on_no_interpreter(const Error& why);
  void watch_interpreter();
  void on_interpreter_message();
  void on_ready(const protocol::Ready& ready);
  void announce();
  void on_activity(const protocol::Activity& activity);
  void reap();
  void on_interpreter_death(int wait_status);
  void end_helpers();
  void report_departure();
  void report_death(int wait_status, const std::string& last_words);
  std::string unlogged_words() const;
  std::string log_tail() const;

  // Its GPUs (supervisor_gpus.cc).
  void watch_gpus();
  void on_gpu_news();
  void announce_if_leased();
  void note_task();
  void tell_gpus();
  void end_unfit(const Error& why, const std::string& failed_gpu = {});

  // The daemon (supervisor.cc).
  void on_connected();
  void tell_deaths();
  void say_farewell();
  void ask_for_answer();
  void on_daemon_message(const protocol::Header& header);
  void beat();
  void tell_running();
  void check_watchdog();
  void forget_client(const SessionId& session);

  // Signals and the end (supervisor.cc).
  void on_signal();
  void end(const std::string& why);
  void end_if_idle(const Cause& why);
  void wait_for_orderly_end();
  void press_on();  // the next, harsher step of the end
  void stop_if_alone();

  const SupervisorOptions options_;
  const JobFacts facts_;
  const ReportPipe report_pipe_;
  InterpreterPlan plan_;
  memory::MemoryEvents memory_;
  UniqueFd log_reader_;

  transport::EventLoop loop_;
  std::unique_ptr<Interpreter> interpreter_;
  transport::EventLoop::WatchId interpreter_watch_ = 0;
  std::uint64_t memory_kills_ = 0;
  Epoch epoch_;
  bool ready_ = false;
  protocol::InterpreterUp up_;  // of the running interpreter, for re-announcements
  std::uint32_t running_ = 0, warnings_ = 0;
  NamespaceState state_ = NamespaceState::kSaved;  // the running interpreter's
  std::string loading_;                            // the module that the running interpreter loads; empty: none
  model::Reported reported_;                       // what its programs reported last
  bool held_ = false;                              // a notebook holds this interpreter, or held one before it
  int early_deaths_ = 0;                           // interpreters in a row that died before they were ready
  std::map<SessionId, protocol::Admit> admitted_;  // sent again to the next interpreter
  protocol::Walltime walltime_;                    // likewise

  UniqueFd signals_;
  std::unique_ptr<DaemonLink> daemon_;
  Watchdog watchdog_;
  Meter meter_;
  device::GpuMeter gpu_meter_;
  protocol::WorkerGpus told_gpus_;  // what this connection has sent
  std::optional<Error> unfit_;      // why its GPUs cannot be used
  std::string failed_gpu_;          // as CUDA_VISIBLE_DEVICES names it
  struct Unannounced {
    Epoch epoch;
    bool listed;  // it has a list of GPUs
  };
  std::optional<Unannounced> unannounced_;  // set while the interpreter is ready and its GPUs are not known yet
  bool farewell_under_way_ = false;
  std::vector<protocol::InterpreterDown> untold_;  // deaths that the daemon has not confirmed
  std::int64_t told_ns_ = 0;                       // time of the beat sent behind them; its answer confirms them

  std::optional<Cause> leaving_;  // why the interpreter was told to end if idle; cleared when it says that it stays
  bool ending_ = false;
  TimePoint orderly_until_{}, leave_by_{};
  int end_steps_ = 0;
};

}  // namespace pounce::worker
