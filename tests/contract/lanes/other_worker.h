// A client's test whose worker is in a process of its own.
#pragma once

#include "contract/lanes/other_end.h"

namespace pounce::lanes {

// Gives something large back for a task without an object, and looks whether another's object is as it was.
inline void play_worker(const Line& client, Road road) {
  ::signal(SIGXFSZ, SIG_IGN);  // as Python has it
  RealWorker worker(road);
  client.tell(worker.endpoint());
  client.tell(worker.key());
  const SessionId session = *SessionId::from_hex(client.hear());
  worker.admit(session, *transport::from_z85(client.hear()));
  client.tell("admitted");
  const auto source = Source::marked(kOnItsWay, 1);
  const auto run = [&](const worker::Job& job) {
    POUNCE_CHECK(job.objects.empty() || source->is(job.objects.front().buffers.front().bytes), "it is as it was");
    return returned(job.objects.empty() ? source : nullptr);
  };
  while (true) worker.turn(run, 1ms);
}

class OtherWorker : protected OtherEnd, public client::EngineTest, public testing::WithParamInterface<Road> {
 protected:
  explicit OtherWorker(const std::function<void(const Line&)>& first = [](const Line&) {})
      : OtherEnd([first](const Line& client) {
          first(client);
          play_worker(client, GetParam());
        }) {}
  void SetUp() override {
    EngineTest::SetUp();
    open_session();
    descriptors = open_descriptors().size();
  }
  void turn_here() override { EngineTest::turn(); }
  TaskId submit_object() {
    const auto id = random_id<ObjectId>();
    engine->hold_object(id, {own_bytes(""), {{source->bytes(), source}}}, false);
    return submit({id});
  }
  void grant() {
    const std::string endpoint = line().hear(), worker_key = line().hear();
    line().tell(session.hex());
    line().tell(transport::to_z85(key));
    ASSERT_EQ(line().hear(), "admitted");
    control->say(protocol::Granted{RequestId{1}, lease_id(1), WorkerIndex{0}, Epoch{1}, endpoint, worker_key});
  }
  void die() {
    kill();
    control->say(protocol::LeaseEnded{RequestId{1}, lease_id(1), {ErrorCode::kWorkerCrashed, "killed", {}, {}}});
  }
  const client::Ended& end_of(const TaskId& task, int asked_in_line = __builtin_LINE()) {
    until([&] { return ended(task) != nullptr; }, asked_in_line);
    static const client::Ended never;
    return ended(task) != nullptr ? *ended(task) : never;
  }

  std::size_t descriptors = 0;
};

}  // namespace pounce::lanes
