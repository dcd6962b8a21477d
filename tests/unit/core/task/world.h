// A machine, a clock moved by hand, and short words for events: what the task core's tests are written in. Invariants
// are checked after each event.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "core/task/machine.h"

namespace pounce::task {

using namespace std::chrono_literals;

// A broken invariant ends the test program with its words, not only with a trap.
inline const bool told_of_checks = [] {
  check_handler = [](const char*, const char* message, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, message);
  };
  return true;
}();

template <class Id>
Id numbered(std::uint8_t number) {
  std::array<std::uint8_t, Id::kBytes> bytes{};
  bytes[0] = number;
  return Id(bytes);
}

inline TaskId task(int n) { return numbered<TaskId>(static_cast<std::uint8_t>(n)); }
inline WorkerRef place(int lease, std::uint32_t worker = 0) {
  return {numbered<LeaseId>(static_cast<std::uint8_t>(lease)), WorkerIndex{worker}};
}

// Actions as text, so that a test compares with what a user would write down.
inline std::string name(const TaskId& id) { return "t" + std::to_string(id.bytes()[0]); }
inline std::string name(const WorkerRef& at) {
  return "w" + std::to_string(at.lease.bytes()[0]) + (at.worker.value > 0 ? "/" + std::to_string(at.worker.value) : "");
}

struct InWords {
  std::string operator()(const Connect& a) const {
    return "connect " + name(a.place) + "." + std::to_string(a.epoch.value);
  }
  std::string operator()(const Disconnect& a) const { return "disconnect " + name(a.place); }
  std::string operator()(const SendTask& a) const {
    return "send " + name(a.task) + " " + name(a.place) + (a.attempt ? " attempt " + std::to_string(a.attempt) : "");
  }
  std::string operator()(const SendCancel& a) const {
    return "cancel " + name(a.task) + " " + name(a.place) + (a.only_if_queued ? " if queued" : "");
  }
  std::string operator()(const SendQuery& a) const {
    std::string words = "query " + name(a.place);
    for (const TaskId& id : a.tasks) words += " " + name(id);
    return words;
  }
  std::string operator()(const Acknowledge& a) const { return "ack " + name(a.task); }
  std::string operator()(const Deliver& a) const { return "deliver " + name(a.task); }
  std::string operator()(const Fail& a) const {
    return "fail " + name(a.task) + " " + std::string(wire_name(a.error.code));
  }
  std::string operator()(const TellReach& a) const {
    return (a.reachable ? "reachable " : "unreachable ") + name(a.place);
  }
  std::string operator()(const SendDemand& a) const {
    std::string words = "demand";
    for (const Request& request : a.requests)
      words += " " + std::to_string(request.waiting) + "/" + std::to_string(request.running) + "/" +
               std::to_string(request.holds.size());
    return words;
  }
};

class TaskTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  // What the machine does; demand messages and queries about nothing have tests of their own.
  Words happens(const Event& event) {
    Words words;
    for (const Action& action : everything(event))
      if (!std::holds_alternative<SendDemand>(action) && !about_nothing(action))
        words.push_back(std::visit(InWords{}, action));
    return words;
  }
  static bool about_nothing(const Action& action) {
    const auto* query = std::get_if<SendQuery>(&action);
    return query != nullptr && query->tasks.empty();
  }
  Words told(const Event& event) {
    Words words;
    for (const Action& action : everything(event))
      if (std::holds_alternative<SendDemand>(action)) words.push_back(std::visit(InWords{}, action));
    return words;
  }
  std::vector<Action> everything(const Event& event) {
    auto actions = machine.handle(event, now);
    machine.check_invariants();
    return actions;
  }

  Words submit(int n, std::uint32_t retries = 0) { return happens(TaskSubmitted{task(n), resources, retries}); }
  static PublicKey key(std::uint8_t n) { return PublicKey{{n}}; }  // 0: not known
  Words grant(int lease, std::uint32_t epoch = 1, std::uint8_t of = 0) {
    return happens(WorkerGranted{RequestId{1}, place(lease), Epoch{epoch}, key(of)});
  }
  Words attach(int lease, std::uint32_t epoch = 1) { return happens(WorkerAttached{place(lease), Epoch{epoch}}); }
  Words start(int lease, int n) { return happens(TaskStarted{place(lease), Epoch{1}, task(n)}); }
  Words outcome(int lease, int n) { return happens(OutcomeArrived{place(lease), Epoch{1}, task(n)}); }
  Words dies(int lease, ErrorCode code = ErrorCode::kWorkerCrashed, std::uint32_t epoch = 1) {
    return happens(WorkerDied{place(lease), Epoch{epoch}, {code, "It died.", {}, {}}});
  }
  Words lease_ends(int lease, ErrorCode code) {
    return happens(LeaseLost{RequestId{1}, place(lease).lease, {code, "It ended.", {}, {}}});
  }
  Words leaves(int lease, std::initializer_list<int> started) {
    WorkerLeaving event{place(lease), Epoch{1}};
    for (const int n : started) event.started.push_back(task(n));
    return happens(event);
  }
  Words unreachable(int lease) { return happens(WorkerUnreachable{place(lease), Epoch{1}}); }
  Words silent(int lease) { return happens(WorkerSilent{place(lease), Epoch{1}}); }
  Words heard(int lease) { return happens(WorkerSeen{place(lease), Epoch{1}}); }
  Words passes(Duration time) {
    now += time;
    return happens(TimePassed{});
  }
  Words answer(int lease, int n, RemoteTaskState known) {
    return happens(QueryAnswered{place(lease), Epoch{1}, task(n), known});
  }

  // A worker with task 1 running on it.
  void one_running(std::uint32_t retries = 0) {
    submit(1, retries);
    grant(1);
    attach(1);
    start(1, 1);
  }

  // A worker with tasks 2 and 3, the second sent ahead.
  void two_sent() {
    machine = Machine(Settings{.window = 2});
    for (int n = 1; n <= 5; ++n) submit(n);
    grant(1);
    attach(1);
    outcome(1, 1);
  }

  Resources resources;
  std::map<WorkerRef, std::uint64_t> near;  // bytes of every task's data
  Machine machine{{}, [this](const WorkerRef& place, const TaskId&) { return near.contains(place) ? near[place] : 0; }};
  TimePoint now = TimePoint{} + 1h;
};

}  // namespace pounce::task
