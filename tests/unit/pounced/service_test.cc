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

// One that takes each job and says nothing else.
class TakingLauncher : public launch::Launcher {
 public:
  void send(slurm::Question question, Reply<std::any> reply) override {
    if (std::holds_alternative<slurm::Reconcile>(question)) reply(std::any(slurm::Reconcile::Answer{}));
    if (std::holds_alternative<slurm::Submit>(question)) reply(std::any(JobIdentity{SlurmJobId{7}, 1007, 0}));
  }
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    setup_.config.policy = scratch_.write("policy.json", "{}");
    setup_.place = {"test", "machine", "boot", 1, 0, ""};
    setup_.instance = *InstanceId::from_hex("0123456789ab");
    setup_.folders = {scratch_.file("test/0123456789ab"), scratch_.file("run")};
    EXPECT_TRUE(make_folders(setup_.folders));
    service_ = std::move(*Service::open(loop_, setup_, {}, launcher_));
    service_->connect({{}, [this](const auto&, const auto& frame) { return sent_.push_back(frame), true; }, [] { return std::vector<model::ListenerRow>(); }});
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

// The worker, which finds no call, says what is wrong.
TEST_F(GrantedTaskTest, GoesToItsWorkerWhereItsFolderIsGone) {
  std::filesystem::remove_all(folder_);

  hear(worker_, up_);

  EXPECT_TRUE(said("\"run_detached\""));
}

}  // namespace
}  // namespace pounce::daemon
