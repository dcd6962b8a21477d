// pounced in the place of a kernel: for each named task it keeps a session of its own in the lease core, so that the task
// has a lease, runs to its end and gives the lease back, whether or not any kernel lives (docs/states.md, "Named tasks").
// It handles names, digests and records; calls and outcomes are files between kernel and worker. Thread: loop.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/lease/actions.h"
#include "pounced/books.h"
#include "pounced/core_driver.h"
#include "pounced/hall.h"
#include "pounced/named_folder.h"
#include "protocol/messages.h"

namespace pounce::daemon {

struct NamedSetup {
  std::set<std::string> instances;  // ours and our predecessors', in hex
  std::string instance;
  std::string folder;
  std::chrono::milliseconds keep;
  std::chrono::milliseconds hold;  // a carried task's worker waits so long for somebody who takes its outcome
  std::chrono::milliseconds courier_silence;
};

class NamedTasks {
 public:
  NamedTasks(NamedSetup setup, transport::EventLoop& loop, Books& books, CoreDriver& driver, Hall& hall)
      : setup_(std::move(setup)), loop_(loop), books_(books), driver_(driver), hall_(hall), folder_(setup_.folder) {}
  ~NamedTasks() { loop_.unwatch(timer_); }

  void restore();                              // those of a predecessor; call after JournalRead
  bool take(const lease::Action& action);      // true: it was for one of these sessions, and is carried out

  void hear(Guest& client, const protocol::NameTask& message);
  void hear(Guest& client, const protocol::NameAsk& message);
  void hear(Guest& client, const protocol::NameEnd& message);
  void hear(Guest& client, const protocol::NameCarry& message);
  void hear(Guest& courier, const protocol::OpenSession& message);
  void hear(Guest& courier, const protocol::Demand& message);
  void hear(Guest& worker, const protocol::NamedEnded& message);
  void hear(const lease::WorkerHeard& beat);

  bool keeps(const SessionId& session) const { return live_.contains(session); }

 private:
  static constexpr WantId kWant{1};

  struct Live {  // has not ended
    protocol::NamedRecord record;
    std::map<WorkerIndex, lease::WorkerLink> links{};  // of the workers that know its session
    TimePoint courier_claimed{}, last_use{};           // of one that is carried
  };

  // what the lease core orders for these sessions
  bool act(Live& live, const lease::AdmitClient& order);
  bool act(Live& live, const lease::GrantWorker& order);
  bool act(Live& live, const lease::TellStatus& order);
  bool act(Live& live, const lease::TellWorkerDown& order);
  bool act(Live& live, const lease::TellLeaseEnded& order);
  bool act(Live& live, const lease::TellWantFailed& order);
  template <class Other>
  bool act(Live&, const Other&) {
    return false;  // as for any session
  }

  void begin(Live& live);
  void demand(const Live& live);
  void run(Live& live);
  void wait_again(Live& live);
  void lost(Live& live, Error why);
  void carry(Live& live, const Error& why);
  TimePoint courier_heard(const Live& live);
  void end_what_nobody_fetched();
  void finish(Live& live, const protocol::NamedRow& end);
  void fail(Live& live, Error why);
  void publish(const protocol::NamedRow& row);
  void save(const protocol::NamedRecord& record);
  void answer(Guest& client, std::uint32_t request, std::vector<protocol::NamedRow> rows, Error error = {});
  void look_after();  // now and then: what the core may have forgotten, what is older than it should be

  bool carries(const SessionId& session) const;
  static SessionId session_of(const TaskId& task);  // 128 random bits either way: the session is called as the task is
  Live* find(const SessionId& session);
  Live* find(const std::string& name);

  const NamedSetup setup_;
  transport::EventLoop& loop_;
  Books& books_;
  CoreDriver& driver_;
  Hall& hall_;
  const NamedFolder folder_;
  std::map<SessionId, Live> live_;
  transport::EventLoop::WatchId timer_ = 0;
};

}  // namespace pounce::daemon
