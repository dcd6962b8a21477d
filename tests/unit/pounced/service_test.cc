// What the fuzzer of sequences (tests/daemon_fuzzer) has found, each by its name.
#include "pounced/service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "protocol/codec.h"
#include "unit/pounced/scratch_folder.h"
#include "unit/protocol/examples.h"

namespace pounce::daemon {
namespace {

using namespace protocol;

// One that takes each job, if it has enough nodes for it, and says nothing else.
class TakingLauncher : public launch::Launcher {
 public:
  void send(slurm::Question question, Reply<std::any> reply) override {
    if (std::holds_alternative<slurm::Reconcile>(question)) reply(std::any(slurm::Reconcile::Answer{}));
    const auto* submit = std::get_if<slurm::Submit>(&question);
    if (submit == nullptr) return;
    not_nodes.push_back(submit->spec.resources.not_nodes);
    if (has_one_node && !not_nodes.back().empty()) return reply(failure(ErrorCode::kUnsatisfiable, "no node is left"));
    const auto number = static_cast<std::uint32_t>(6 + not_nodes.size());
    reply(std::any(JobIdentity{SlurmJobId{number}, 1000 + number, 0}));
  }

  bool has_one_node = false;
  std::vector<std::string> not_nodes;  // of each job that was asked for
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    setup_.config.policy = scratch_.write("policy.json", "{}");
    setup_.scope = {"test", "machine", "boot", 1, 0, ""};
    setup_.instance = *InstanceId::from_hex("0123456789ab");
    setup_.folders = {scratch_.file("test/0123456789ab"), scratch_.file("run")};
    EXPECT_TRUE(make_folders(setup_.folders));
    service_ = std::move(*Service::open(loop_, setup_, {}, launcher_));
    service_->connect({{},
                       [this](const auto&, const auto& frame) { return sent_.push_back(frame), true; },
                       [] { return std::vector<model::ListenerRow>(); }});
    service_->start();
  }

  PublicKey admit(Role role, const SessionId& session, const LeaseId& lease) {
    Peer peer;
    peer.role = role, peer.session = session, peer.lease = lease;
    peer.key.bytes[0] = ++keys_;
    service_->peers().admit(peer, Clock::now());
    return peer.key;
  }
  void hear(const PublicKey& from, const Header& header) {
    sent_.clear();
    service_->control().hear(from, std::to_string(from.bytes[0]), encode(header));
  }
  PublicKey client(const SessionId& session) {
    const PublicKey key = admit(Role::kClient, session, {});
    OpenSession open;
    open.session = session, open.directory = "/home/" + session.hex(), open.interpreter = {"python"};
    hear(key, open);
    return key;
  }
  WorkerUp worker_up(const std::string& endpoint) const {
    WorkerUp up;
    up.lease = kLease, up.job = 7, up.interpreter_ready = true, up.endpoint = endpoint, up.key = kKey;
    return up;
  }
  bool said(const std::string& words) const {
    return std::ranges::any_of(sent_, [&](const std::string& frame) { return frame.find(words) != std::string::npos; });
  }
  bool refused() const { return sent_.size() == 1 && sent_[0].find("\"refused\"") != std::string::npos; }

  ScratchFolder scratch_;
  daemon::Setup setup_;
  TakingLauncher launcher_;
  transport::EventLoop loop_;
  std::vector<std::string> sent_;
  std::unique_ptr<Service> service_;
  std::uint8_t keys_ = 0;
};

TEST_F(ServiceTest, AWorkerThatIsRefusedForItsInterpreterIsNotConnected) {
  const PublicKey worker = admit(Role::kWorker, {}, kLease);
  hear(worker, worker_up("ipc:///tmp/not-for-clients"));
  EXPECT_TRUE(refused());
  EXPECT_TRUE(service_->core().leases().empty());
}

TEST_F(ServiceTest, AnInterpreterOfALeaseThatIsNotThereIsNotKept) {
  const PublicKey worker = admit(Role::kWorker, {}, kLease);
  InterpreterUp up;
  up.lease = kLease, up.endpoint = kDataEndpoint, up.key = kKey;
  hear(worker, up);
  EXPECT_TRUE(service_->state().interpreters.empty());
}

TEST_F(ServiceTest, ADetachedTaskDoesNotTakeThePlaceOfASession) {
  const SessionId session = id_of<SessionId>(0x60);
  client(session);
  const PublicKey another = client(id_of<SessionId>(0x70));
  SubmitDetached submit;
  submit.question = 1, submit.name = "train", submit.task = id_of<TaskId>(0x60);
  ASSERT_EQ(::mkdir((setup_.folders.results() + "/." + submit.task.hex()).c_str(), 0700), 0);
  hear(another, submit);
  EXPECT_EQ(service_->state().clients.at(session).opened.directory, "/home/" + session.hex());
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_NE(sent_[0].find("bad_request"), std::string::npos);
}

// Else the first would hold its job for ever: a name stands for one task.
TEST_F(ServiceTest, ANameIsTakenAlsoWhereItsTasksFolderWasRemoved) {
  const PublicKey kernel = client(id_of<SessionId>(0x60));
  SubmitDetached submit;
  submit.question = 1, submit.name = "train";
  for (const std::uint8_t task : {0x70, 0x80}) {
    submit.task = id_of<TaskId>(task);
    ASSERT_EQ(::mkdir((setup_.folders.results() + "/." + submit.task.hex()).c_str(), 0700), 0);
    hear(kernel, submit);
    std::filesystem::remove_all(setup_.folders.results() + "/train");
  }
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_NE(sent_[0].find("name_taken"), std::string::npos);
}

class GrantedTaskTest : public ServiceTest {
 protected:
  GrantedTaskTest() {
    const PublicKey kernel = client(id_of<SessionId>(0x60));
    SubmitDetached submit;
    submit.question = 1, submit.name = "train", submit.task = id_of<TaskId>(0x70);
    std::filesystem::create_directory(setup_.folders.results() + "/." + submit.task.hex());
    ::chmod((setup_.folders.results() + "/." + submit.task.hex()).c_str(), 0700);
    hear(kernel, submit);
    up_ = worker_up(kDataEndpoint);
    up_.lease = service_->core().leases().at(0).lease;
    worker_ = admit(Role::kWorker, {}, up_.lease);
  }

  const std::string folder_ = setup_.folders.results() + "/train", record_ = folder_ + "/record";
  WorkerUp up_;
  PublicKey worker_;
};

// It would run a second time where pounced ends before the disk has room again.
TEST_F(GrantedTaskTest, IsNotRunBeforeItsRecordSaysSo) {
  std::filesystem::remove(record_);
  std::filesystem::create_directory(record_);  // nothing can be written there

  hear(worker_, up_);
  EXPECT_FALSE(said("\"run_detached\""));
  EXPECT_TRUE(said("\"not_written\""));

  std::filesystem::remove(record_);
  hear(worker_, up_);  // as after a lost connection
  EXPECT_TRUE(said("\"run_detached\""));
}

class FailedGpuTest : public ServiceTest {
 protected:
  FailedGpuTest() {
    demand(1);
    const LeaseId lease = service_->core().leases().at(0).lease;
    up_ = worker_up(kDataEndpoint);
    up_.lease = lease, up_.node = "g1";
    worker_ = admit(Role::kWorker, {}, lease);
    hear(worker_, up_);
  }
  // So many requests, each for a lease of its own.
  void demand(std::uint32_t requests) {
    Demand all;
    all.session = kernels_;
    for (std::uint32_t n = 1; n <= requests; ++n) {
      Request one;
      one.id = RequestId{n}, one.waiting = 1, one.resources.gpus = 1;
      all.requests.push_back(one);
    }
    hear(kernel_, all);
  }
  void fail_gpu(const std::string& node = "g1") {
    WorkerGpus gpus;
    gpus.lease = up_.lease, gpus.node = node;
    gpus.gpus.resize(1);
    gpus.gpus.front().uuid = "GPU-a", gpus.gpus.front().failed = "the GPU GPU-a failed";
    hear(worker_, gpus);
  }

  const SessionId kernels_ = id_of<SessionId>(0x60);
  const PublicKey kernel_ = client(kernels_);
  WorkerUp up_;
  PublicKey worker_;
};

TEST_F(FailedGpuTest, TheNextLeaseIsAskedForElsewhere) {
  fail_gpu();
  demand(2);
  EXPECT_EQ(launcher_.not_nodes, (std::vector<std::string>{"", "g1"}));
}

TEST_F(FailedGpuTest, WhereNothingElseFitsItIsAskedForThere) {
  launcher_.has_one_node = true;
  fail_gpu();
  demand(2);
  EXPECT_EQ(launcher_.not_nodes, (std::vector<std::string>{"", "g1", ""}));
  const auto leases = service_->core().leases();
  EXPECT_EQ(std::ranges::count(leases, lease::LeaseState::kQueued, &lease::LeaseView::state), 1);
}

TEST_F(FailedGpuTest, TheDeathOfAWorkerThatSawOthersGpusIsHeldAgainstItsNode) {
  InterpreterDown down;
  down.lease = up_.lease, down.restarting = false;
  down.error = {ErrorCode::kDeviceUnavailable, "not the lease's", {}, {}};
  hear(worker_, down);
  demand(2);
  EXPECT_EQ(launcher_.not_nodes.back(), "g1");
}

TEST_F(FailedGpuTest, WhatAWorkerTellsOfAnotherLeaseIsRefused) {
  up_.lease = kLease;
  fail_gpu();
  EXPECT_TRUE(refused());
  demand(2);
  EXPECT_EQ(launcher_.not_nodes.back(), "");
}

// The worker, which finds no call, says what is wrong.
TEST_F(GrantedTaskTest, GoesToItsWorkerWhereItsFolderIsGone) {
  std::filesystem::remove_all(folder_);

  hear(worker_, up_);

  EXPECT_TRUE(said("\"run_detached\""));
}

}  // namespace
}  // namespace pounce::daemon
