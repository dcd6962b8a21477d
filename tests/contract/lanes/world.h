// The real client's engine and the real worker's in one process and one thread, over each road that data can take. The
// road is chosen as it is outside: by what is there. Nothing that a test says or looks at depends on it.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random_id.h"
#include "contract/lanes/descriptors.h"
#include "contract/lanes/no_local_sockets.h"
#include "contract/lanes/source.h"
#include "unit/client/world.h"
#include "worker/common/supervisor_channel.h"
#include "worker/interpreter/worker_engine.h"

namespace pounce::lanes {

using namespace std::chrono_literals;

enum class Road : std::uint8_t { kMemory, kTls, kZeroMq };

// Of a program without OpenSSL the road that would be a lane is ZeroMQ's.
inline bool is_lane(Road road) { return road == Road::kTls && bulk::Lane::available(); }

inline std::string name_of(Road road) {
  return road == Road::kMemory ? "Memory" : road == Road::kTls ? "Tls" : "ZeroMq";
}
inline std::string road_name(const testing::TestParamInfo<Road>& info) { return name_of(info.param); }

// One that no lane gets: it is the data socket's.
inline std::string one_free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  address.ss_family = AF_INET;
  POUNCE_CHECK(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                   ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
               "a port is free");
  const std::string port = std::to_string(port_of(address));
  return port + "-" + port;
}

inline worker::JobResult returned(const std::shared_ptr<const Source>& source) {
  worker::JobResult result;
  result.ok = true;
  result.pickle = own_bytes("pickle");
  if (source) result.buffers.push_back(Bytes{source->bytes(), source});
  return result;
}

class RealWorker {
 public:
  explicit RealWorker(Road road) {
    int ends[2];
    POUNCE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0,
                 "there are descriptors");
    supervisor_ = std::make_unique<worker::RecordSocket>(UniqueFd(ends[0]));
    worker::EngineSetup setup;
    setup.supervisor = UniqueFd(ends[1]);
    setup.run_page = std::move(*worker::RunPage::make());
    setup.facing = "127.0.0.1";
    setup.python = "3.11";
    setup.interrupt = [] {};
    if (road == Road::kZeroMq) setup.ports = one_free_port();
    const auto begin = [&] { engine_ = std::move(*worker::WorkerEngine::start(std::move(setup))); };
    road == Road::kMemory ? begin() : without_local_sockets(begin);
    engine_->tasks().runner_ready();
  }

  void admit(const SessionId& session, const PublicKey& key) {
    tell(protocol::Admit{LeaseId{}, session, transport::to_z85(key)});
  }
  void dismiss(const SessionId& session) { tell(protocol::Dismiss{LeaseId{}, session}); }
  // Runs what has come, as the main thread does.
  void turn(const std::function<worker::JobResult(const worker::Job&)>& run, Duration wait = {}) {
    turn(wait);
    auto job = engine_->tasks().take_job();
    if (!job) return;
    worker::JobResult result = run(*job);
    engine_->tasks().end_run(job->task, std::move(result));
    job.reset();
    engine_->tasks().runner_ready();
  }
  void turn(Duration wait = {}) { engine_->turn(no_wake_.get(), Clock::now() + wait); }  // and runs nothing
  const std::string& endpoint() const { return engine_->endpoint(); }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::atoi(endpoint().substr(endpoint().rfind(':') + 1).c_str()));
  }
  std::string key() const { return transport::to_z85(engine_->key()); }

 private:
  void tell(const protocol::Header& header) {
    supervisor_->send(header);
    supervisor_->flush();
  }

  std::unique_ptr<worker::RecordSocket> supervisor_;
  UniqueFd no_wake_{::eventfd(0, EFD_CLOEXEC)};
  std::unique_ptr<worker::WorkerEngine> engine_;
};

class LanesTest : public client::EngineTest {
 protected:
  void begin(Road wanted) {
    road = wanted;
    open_session();
    worker = std::make_unique<RealWorker>(road);
    worker->admit(session, key);
    run = [](const worker::Job&) { return returned({}); };
  }
  void TearDown() override {
    EngineTest::TearDown();  // the client first: it lets go of what it was given
    worker.reset();
  }

  // The lease comes when something waits for it.
  void grant() {
    control->say(
        protocol::Granted{RequestId{1}, lease_id(1), WorkerIndex{0}, Epoch{1}, worker->endpoint(), worker->key()});
  }
  ObjectId hold(const std::shared_ptr<const Source>& source) { return hold(source->bytes(), source); }
  ObjectId hold(std::span<const std::byte> bytes, std::shared_ptr<const void> keep) {
    const auto id = random_id<ObjectId>();
    engine->hold_object(id, {own_bytes(""), {{bytes, std::move(keep)}}}, false);
    return id;
  }

  void client_turn() { EngineTest::turn(); }
  void worker_turn() { worker->turn(run); }
  void until(const std::function<bool()>& condition, int asked_in_line = __builtin_LINE()) {
    const TimePoint deadline = Clock::now() + patience;
    while (!condition()) {
      ASSERT_LT(Clock::now(), deadline) << "asked in line " << asked_in_line << ": it does not come true";
      client_turn();
      worker_turn();
    }
  }
  const client::Ended& end_of(const TaskId& task, int asked_in_line = __builtin_LINE()) {
    until([&] { return ended(task) != nullptr; }, asked_in_line);
    static const client::Ended never;
    return ended(task) != nullptr ? *ended(task) : never;
  }

  // Over the worker's data port, or over any other; and as memory, or into it.
  std::uint64_t beside_calls() const { return received_bytes(worker->port(), false); }
  std::uint64_t over_lanes() const { return received_bytes(worker->port(), true); }
  std::uint64_t moved() const { return beside_calls() + over_lanes() + object_memory(); }
  // So many bytes, there and back, took the road that this test is about, as far as they are worth it.
  void expect_road(std::uint64_t bytes) const {
    const bool lane = is_lane(road) && bytes >= data::kWorthTheLane, calls = !lane && road != Road::kMemory;
    EXPECT_GE(beside_calls(), calls ? 2 * bytes : 0);
    EXPECT_LT(beside_calls(), calls ? 2 * bytes + bytes / 100 + kBesides : kBesides);
    EXPECT_GE(over_lanes(), lane ? 2 * bytes : 0);
    EXPECT_LE(over_lanes(), lane ? 2 * bytes + bytes / 100 + kBesides : 0);
  }
  static constexpr std::uint64_t kBesides = 64 * 1024;  // calls, handshakes, headers

  Duration patience = 100s;
  Road road = Road::kMemory;
  std::unique_ptr<RealWorker> worker;
  std::function<worker::JobResult(const worker::Job&)> run;
};

}  // namespace pounce::lanes
