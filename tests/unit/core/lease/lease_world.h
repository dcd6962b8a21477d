// The world of the lease tests: a core, a clock moved by hand, builders for what the core is told, and the actions of
// the last step by kind. After each event the invariants must hold.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/lease/lease_core.h"

namespace pounce::lease {

using namespace std::chrono_literals;

class LeaseWorld {
 public:
  LeaseWorld() : LeaseWorld(without_warmth()) {}
  explicit LeaseWorld(Defaults times) : defaults(times) {}

  static InstanceId our_instance() { return *InstanceId::from_hex("00000000aa01"); }
  static InstanceId other_instance() { return *InstanceId::from_hex("00000000aa02"); }
  static SessionId session(int n) { return numbered<SessionId>(n); }
  static LeaseId lease(int n) { return numbered<LeaseId>(n); }
  static Resources resources(const char* class_name, std::uint32_t gpus) {
    Resources asked;
    asked.class_name = class_name;
    asked.gpus = gpus;
    return asked;
  }
  static Resources one_gpu() { return resources("cheetah", 1); }
  static JobIdentity job(std::uint32_t id, std::uint32_t restart = 0) { return {SlurmJobId{id}, 1000 + id, restart}; }

  // ---- time and events -----------------------------------------------------------------------------------------

  void tell(const Event& event) {
    actions = core.handle(event, now);
    ASSERT_EQ(core.broken_invariant(), std::nullopt);
  }
  // Moves the clock, stopping at each deadline as the daemon's timer would; actions holds those of the whole way.
  // Workers in `beating` are heard on the way.
  void advance(std::chrono::milliseconds by) {
    std::vector<Action> all;
    const TimePoint end = now + by;
    while (core.next_deadline() <= end) {
      now = core.next_deadline();
      tell(TimePassed{});
      all.insert(all.end(), actions.begin(), actions.end());
    }
    now = end;
    tell(TimePassed{});
    all.insert(all.end(), actions.begin(), actions.end());
    actions = std::move(all);
  }
  // As advance, with the session and the worker heard every second.
  void advance_alive(std::chrono::seconds by, std::uint32_t running = 0) {
    std::vector<Action> all;
    for (auto second = 0s; second < by; second += 1s) {
      advance(1s);
      all.insert(all.end(), actions.begin(), actions.end());
      beat(running);
      all.insert(all.end(), actions.begin(), actions.end());
    }
    actions = std::move(all);
  }
  void beat(std::uint32_t running = 0) {
    tell(SessionSeen{session(1)});
    auto heard = actions;
    if (!core.leases().empty())
      tell(WorkerSeen{core.leases().front().lease, WorkerIndex{0}, link, running, 0, variables});
    actions.insert(actions.begin(), heard.begin(), heard.end());
  }

  // ---- the history so far ------------------------------------------------------------------------------------------

  void start(std::vector<JournalRecord> journal = {}, std::vector<JobView> jobs = {}) {
    tell(JournalRead{std::move(journal)});
    tell(ReconcileDone{std::move(jobs)});
  }
  void demand(std::uint32_t waiting, std::uint32_t running = 0, Resources resources = one_gpu(), int who = 1) {
    tell(DemandChanged{session(who), {{RequestId{1}, resources, waiting, running, {}}}});
  }
  // Calls that were made after the client was told of an end.
  void new_calls(std::uint32_t waiting, std::uint32_t generation = 1) {
    tell(DemandChanged{session(1), {{RequestId{1}, one_gpu(), waiting, 0, {}, generation}}});
  }
  void open(int who = 1) { tell(SessionOpened{session(who)}); }
  // A lease in the state of that name, of session 1's want 1: lease(1), job(7), link 1.
  void given_submitting() {
    start();
    open();
    demand(1);
  }
  void given_queued() {
    given_submitting();
    tell(Submitted{lease(1), job(7)});
  }
  void given_starting() {
    given_queued();
    tell(connected());
  }
  void given_busy(const PublicKey& supervisor = {}) {
    given_queued();
    tell(connected_as(supervisor));
    tell(InterpreterStarted{lease(1), WorkerIndex{0}, link, Epoch{1}});
  }
  void given_idle() {
    given_busy();
    demand(0);
  }
  void given_draining() {
    given_idle();
    advance_alive(61s);
  }
  void given_ending() {
    given_queued();
    demand(0);
  }

  static PublicKey process(std::uint8_t number) { return PublicKey{{number}}; }
  WorkerConnected connected_as(const PublicKey& supervisor) const {
    WorkerConnected event = connected();
    event.supervisor = supervisor;
    return event;
  }
  WorkerConnected connected(std::uint32_t restart = 0, std::uint32_t id = 7) const {
    return {lease(1), WorkerIndex{0}, link, SlurmJobId{id}, restart, "g1", "gpu:a100:1"};
  }
  JobView view(JobState state, JobEnd end = JobEnd::kNone, JobIdentity which = job(7), int of = 1) const {
    JobView seen;
    seen.job_identity = which;
    seen.instance = our_instance();
    seen.lease = lease(of);
    seen.class_name = "cheetah";
    seen.state = state;
    seen.end = end;
    seen.resources = one_gpu();
    return seen;
  }
  // One who waits for a GPU on g1, where job 7 holds the only one.
  static QueueSnapshot somebody_waits() {
    const Room gpu{{{"a100", 1}}, 1, 0};
    return {false, {{{"gpu"}, "", {}, {}, 1, gpu}}, {{job(7), "g1", gpu}}, {{"g1", {"gpu"}, {}, {}}}};
  }
  static Error trouble(ErrorCode code) { return {code, "as the test says", {}, {}}; }
  void polled(JobView seen) {
    wait_for<PollJobs>();
    tell(Polled{std::vector{seen}});
  }
  void reconciled_jobs(std::vector<JobView> jobs) {
    wait_for<ReconcileJobs>();
    tell(ReconcileDone{std::move(jobs)});
  }
  // Moves the clock from deadline to deadline until the core orders a T; sessions and workers stay heard.
  template <class T>
  void wait_for() {
    if (!only<T>().empty()) return;
    for (int deadlines = 0; deadlines < 200; ++deadlines) {
      if (core.next_deadline() == TimePoint::max()) break;
      now = core.next_deadline();
      for (int who : {1, 2})
        if (core.session_count() > 0) static_cast<void>(core.handle(SessionSeen{session(who)}, now - 1ms));
      tell(TimePassed{});
      if (!only<T>().empty()) return;
    }
    FAIL() << "the core never ordered it";
  }

  // ---- what the core ordered -----------------------------------------------------------------------------------

  template <class T>
  std::vector<T> only() const {
    std::vector<T> found;
    for (const Action& action : actions)
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    return found;
  }
  template <class T>
  std::size_t count() const {
    return only<T>().size();
  }
  std::optional<LeaseState> state(int n = 1) const {
    for (const LeaseView& one : core.leases())
      if (one.lease == lease(n)) return one.state;
    return std::nullopt;
  }

  template <class Id>
  static Id numbered(int n) {
    std::array<std::uint8_t, Id::kBytes> bytes{};
    bytes.back() = static_cast<std::uint8_t>(n);
    bytes[bytes.size() - 2] = static_cast<std::uint8_t>(n >> 8);
    return Id(bytes);
  }

  static Defaults without_warmth() {
    Defaults times;
    times.keep_warm = 0ms;
    return times;
  }
  Defaults defaults;
  int leases_made = 0;
  LeaseCore core{our_instance(), defaults, [this] { return lease(++leases_made); }};
  TimePoint now = TimePoint{} + 1000s;
  std::vector<Action> actions;
  WorkerLink link{1};
  NamespaceState variables = NamespaceState::kSaved;  // what the worker's beats tell of them
};

class LeaseTest : public ::testing::Test, protected LeaseWorld {
 protected:
  LeaseTest() = default;
  explicit LeaseTest(Defaults times) : LeaseWorld(times) {}
  void TearDown() override { EXPECT_EQ(core.broken_invariant(), std::nullopt); }
};

}  // namespace pounce::lease
