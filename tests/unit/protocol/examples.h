// One example of every message, each field set to something that is not its default. The golden files are their bytes.
#pragma once

#include <vector>

#include "protocol/messages.h"

namespace pounce::protocol {

template <class Id>
Id id_of(std::uint8_t first) {
  std::array<std::uint8_t, Id::kBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(first + i);
  return Id(bytes);
}

inline const SessionId kSession = id_of<SessionId>(0x10);
inline const LeaseId kLease = id_of<LeaseId>(0x20);
inline const TaskId kTask = id_of<TaskId>(0x30);
inline const ObjectId kObject = id_of<ObjectId>(0x40);
inline const FunctionId kFunction = id_of<FunctionId>(0x50);
inline const std::string kKey = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";  // the example key of the Z85 specification
inline const std::string kDigest(64, 'b');
inline const std::string kDataEndpoint = "tcp://10.77.0.1:40001";

inline Error example_error() {
  return {.code = ErrorCode::kWorkerCrashed,
          .text = "the interpreter was killed by signal 11",
          .remedy = "Read the last lines.",
          .context = {{"signal", "11"}, {"signal_name", "SIGSEGV"}, {"last_lines", "boom\n"}},
          .signal = 11};
}

inline Resources example_resources() {
  Resources resources;
  resources.class_name = "cheetah";
  resources.gpus = 2;
  resources.gpu_type = "a100";
  resources.cpus = 4;
  resources.memory_mib = 8192;
  resources.time = std::chrono::minutes(20);
  resources.workers = 3;
  resources.gpu_memory_mib = 20480;
  resources.cuda = 12040;
  resources.placement = Placement::kSpread;
  resources.not_nodes = "g[2-3]";
  resources.account = "ml";
  resources.reservation = "course";
  resources.nice = 100;
  resources.slurm = {{"constraint", "nvlink"}};
  return resources;
}

inline model::QueueWait example_wait() {
  return {"QOSMaxGRESPerUser",
          3,
          1'700'000'000,
          {"gres/gpu:a100", 4, 3, 2},
          {1'700'000'000, 1'699'999'900, 1'700'000'600, Eta::From::kQueue, 3, 2, 12}};
}

inline ClassesIs example_classes() {
  ClassesIs classes{
      12, {ClassUse{"lion", true, 1440, 4, 3, -1, 5, 8, 2, 4}}, {GpuUse{"a100", 6, 0}}, example_error(), "slurm"};
  classes.gpus[0].eta = {1'700'000'000, 1'699'999'900, 1'700'000'600, Eta::From::kQueue, 3, 2, 12};
  classes.cpus_free = 12;
  Choice choice;
  choice.kind = choice.option = "cpu";
  choice.resources = example_resources();
  choice.now = true;
  classes.choices.push_back(choice);
  return classes;
}

// With every argument that there is.
inline Cause example_cause() {
  return {CauseCode::kRetrySoon,    42, 7, 5, std::chrono::seconds(30), "g1", "Resources", "as it was said",
          {Cause{CauseCode::kIdle}}};
}

inline DetachedRow example_detached_row() {
  return {"train-7",     kTask,
          "done",        Cause{.code = CauseCode::kJobStarts},
          kLease,        42,
          "g1",          true,
          true,          kDigest,
          800'512,       1'700'000'000,
          1'700'001'260, example_error(),
          "lion",        example_wait()};
}

inline std::vector<Header> handshake_and_client_examples() {
  return {
      Hello{Role::kWorker, Proof::kMunge, kKey, kSession.hex(), kLease.hex(), "0.1.0"},
      Welcome{{"ipc:///run/user/1001/pounce/0a0b0c0d0e0f/control", "tcp://10.77.0.254:40000"}, "0a0b0c0d0e0f", 2000},
      Refused{example_error()},
      OpenSession{kSession,
                  4711,
                  "login1",
                  "/home/alice",
                  {"/opt/python/bin/python", "-X", "dev"},
                  {{"LANG", "C.UTF-8"}},
                  true,
                  true},
      Demand{kSession, {Request{{3}, example_resources(), 5, 1, {kLease}, 2}}},
      CloseSession{kSession},
      Beat{true, 123'456'789'012, 987'654'321'098},
      Granted{{3}, kLease, {1}, {2}, kDataEndpoint, kKey},
      LeaseStatus{{3},
                  kLease,
                  "queued",
                  example_cause(),
                  1'700'000'000,
                  42,
                  "g1",
                  "gpu:a100:2(IDX:0-1)",
                  1'700'001'200,
                  "lion",
                  example_wait(),
                  "",
                  {1, 2, 2048, std::chrono::minutes(5)}},
      WorkerDown{kLease, {1}, {2}, example_error(), {kKey, std::vector{kTask}, "1"}},
      LeaseEnded{{3}, kLease, example_error(), 1'700'000'060},
      RequestFailed{{3}, example_error()},
      QueueAsk{7},
      QueueIs{7,
              {QueueRow{42,
                        "pounce-cheetah",
                        "cheetah",
                        "PENDING",
                        "Resources",
                        "g1",
                        "gpu:a100:2",
                        kLease.hex(),
                        1'700'000'000,
                        1'700'000'060,
                        1'700'001'260,
                        "Resources",
                        {"gres/gpu:a100", 4, 3, 2},
                        3}},
              example_error(),
              "slurm"},
      ClassesAsk{12,
                 true,
                 example_resources(),
                 {"job", 4, 4, 1},
                 {1'700'000'000, 1'699'999'900, 1'700'000'600, Eta::From::kQueue, 3, 2, 12}},
      example_classes(),
      StatusAsk{8},
      StatusIs{8, R"({"leases":[]})"},
      ReleaseAsk{9, {kLease}, ReleaseHow::kNow, "pouncectl release --now"},
      ReleaseIs{9, {ReleaseRow{kLease, "draining", 2, 1}}},
      SubmitDetached{9, "train-7", kTask, example_resources(), 2},
      DetachedAsk{10, "train-7"},
      CancelDetached{11, "train-7", true},
      RelayDetached{12, "train-7", true, kDigest, example_error()},
      DetachedList{12, {example_detached_row()}, example_error()},
      Notice{"no Slurm here: this machine's CPU stands in"},
  };
}

inline std::vector<Header> worker_examples() {
  return {
      WorkerUp{kLease, {1}, 42, 3, "g1", "gpu:a100:2(IDX:0-1)", 4712, true, {2}, kDataEndpoint, kKey, {kSession}},
      InterpreterUp{kLease, {1}, {2}, kDataEndpoint, kKey},
      InterpreterDown{kLease, {1}, {2}, example_error(), false, {kKey, std::vector{kTask}, {}}},
      WorkerBeat{kLease,
                 {1},
                 1,
                 false,
                 {61'000, 9'500, 128'000, 2048, 71, 3072, 81'920, true},
                 2,
                 NamespaceState::kUnsaved,
                 "torch",
                 {"epoch 3", {{"loss", "0.3"}}, "6b0c"},
                 {350, 1500, 93, 2900}},
      WorkerGpus{kLease,
                 {1},
                 "g1",
                 {{"GPU-0a1b",
                   "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
                   "3g.20gb",
                   "580.65.06",
                   20'096,
                   1,
                   {"GPU-2c3d"},
                   2,
                   "it fell off"}},
                 "compat",
                 {{kTask.hex(), 71, 3072}}},
      Admit{kLease, kSession, kKey},
      Dismiss{kLease, kSession, Cause{CauseCode::kSessionClosed}},
      EndWorker{kLease, Cause{CauseCode::kIdle}, true},
      RunDetached{kLease, {1}, {2}, kSession, kTask, "/home/alice/.local/state/pounce/hpc/results/train-7"},
      DetachedEnded{kLease, {1}, {2}, kTask, true, kDigest, example_error()},
      Ready{kDataEndpoint, kKey},
      Activity{1, 250, NamespaceState::kSaving, true, "torch", true, {"epoch 3", {{"loss", "nan"}}, "6b0c"}},
      Walltime{kLease, 1'700'001'200, true},
      YieldSteps{kLease},
  };
}

inline std::vector<Header> data_examples() {
  return {
      Attach{kSession, "0.1.0", "3.11", "2.2.0", {"torch"}, {"pandas", "matplotlib.pyplot"}, true, true},
      Attached{"0.1.0",
               "3.11",
               "2.2.0",
               "g1",
               "g1",
               "gpu:a100:2(IDX:0-1)",
               "/home/alice",
               4713,
               {{kObject.hex(), 1, 2'097'152, true}},
               "tcp://10.77.0.1:50008",
               true},
      Several{3},
      Function{kFunction, false},
      Object{kObject, {3'000'000, 5}, {64, 3'000'064}, true, true, "tcp://10.0.0.7:40002"},
      Serve{kObject, "reader", true, true},
      NotFetched{kObject},
      Chunk{kObject.hex(), 1, 1'048'576},
      Fetch{kObject.hex(), 1, 4'194'304, 1'000'000},
      Have{kObject},
      Drop{{kObject}, {kFunction}},
      Task{kTask, kFunction, {kObject}, 2},
      Started{kTask},
      Output{kTask, "stderr"},
      Outcome{kTask,
              true,
              example_error(),
              {2'000'000},
              {64},
              true,
              true,
              Reached{kTask.hex(), 1, 1'048'576, false},
              1000,
              4000,
              {2000, 3000, 5000000, 700}},
      Ack{{kTask}},
      Query{{kTask}, true, {{kTask.hex(), 0, 1'048'576, false}}},
      QueryIs{{kTask}, {RemoteTaskState::kRunning}},
      Leaving{{kTask}},
      CancelTask{kTask, 5000, true},
      Input{kTask},
      Look{7},
  };
}

inline std::vector<Header> one_of_each() {
  std::vector<Header> all = handshake_and_client_examples();
  for (const auto& more : {worker_examples(), data_examples()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::string type_of(const Header& header) {
  return std::visit([](const auto& message) { return std::string(message.kType); }, header);
}

}  // namespace pounce::protocol
