// The worker's command line and environment as the batch system will store and show them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pounced/leases/job_builder.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    plan.program = "/opt/bin/pounce-worker";
    plan.endpoint.handshake = {"ipc:///run/handshake", "tcp://10.77.0.254:4000"};
    plan.endpoint.key = "KEY";
    plan.endpoint.proof = "munge";
    plan.endpoint.munge_socket = "/run/munge.socket";
    plan.folders = {"/home/alice/state", "/run/user/1"};
    session.interpreter = {"/opt/env/bin/python", "-X", "dev"};
    session.directory = "/home/alice/work";
  }
  JobSpec spec() const { return job_spec(plan, InstanceId(), lease, resources, session); }

  WorkerPlan plan;
  protocol::OpenSession session;
  Resources resources{"cheetah", 1, "", 0, 0, {}};
  const LeaseId lease = *LeaseId::from_hex("0102030405060708");
};

TEST_F(CommandTest, TellsTheSupervisorWhereAndHowToSayHello) {
  EXPECT_THAT(spec().command,
              ElementsAre("/opt/bin/pounce-worker", "serve", "--lease", "0102030405060708", "--workers", "1",
                          "--handshake", "tcp://10.77.0.254:4000", "--daemon-key", "KEY", "--proof", "munge",
                          "--munge-socket", "/run/munge.socket", "--endpoint-file", "/home/alice/state/endpoint",
                          "--heartbeat-ms", "5000", "--watchdog-idle-s", "150", "--watchdog-busy-s", "900", "--leave-s",
                          "60", "--", "/opt/env/bin/python", "-X", "dev"));
}

TEST_F(CommandTest, SaysWhereWorkersListenWhereTheSiteDoes) {
  plan.interface = "ib0";
  plan.ports = "50000-50999";
  EXPECT_THAT(spec().command, testing::IsSupersetOf({"--interface", "ib0", "--ports", "50000-50999"}));
}

TEST_F(CommandTest, NamesTheKeyFileWhereThereIsNoMunge) {
  plan.endpoint.proof = "key_file";
  plan.endpoint.munge_socket = "";
  plan.endpoint.key_file = "/home/alice/state/key";
  EXPECT_THAT(spec().command, Contains("/home/alice/state/key"));
  EXPECT_THAT(spec().command, Not(Contains("--munge-socket")));
}

TEST_F(CommandTest, RoundsAShortenedWatchdogTimeUp) {
  plan.times.watchdog_idle = 200ms;
  const auto argv = spec().command;
  const auto option = std::find(argv.begin(), argv.end(), "--watchdog-idle-s");
  ASSERT_NE(option, argv.end());
  EXPECT_EQ(*(option + 1), "1");
}

TEST_F(CommandTest, SaysThatTheCpuStandsInForAGpuOnly) {
  plan.stand_in = true;
  EXPECT_THAT(spec().command, Contains("CPU standing in"));
  resources.gpus = 0;
  EXPECT_THAT(spec().command, Not(Contains("--stand-in")));
}

TEST_F(CommandTest, KeepsAnOuterJobsVariablesAndOurOwnOutOfTheWorker) {
  session.environment = {{"SLURM_JOB_ID", "5"}, {"SLURM_CPUS_PER_TASK", "1"}, {"SPANK_X", "1"},
                         {"PMI_RANK", "0"},     {"POUNCE_CONFIG", "x"},       {"OMP_NUM_THREADS", "4"}};
  const auto environment = spec().environment;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_CPUS_PER_TASK", "SPANK_X", "PMI_RANK", "POUNCE_CONFIG"})
    EXPECT_THAT(environment, Not(Contains(Key(name))));
  EXPECT_THAT(environment, Contains(testing::Pair("OMP_NUM_THREADS", "4")));
}

TEST_F(CommandTest, AlwaysGivesAPathButNeverAnotherThanTheSessions) {
  EXPECT_THAT(spec().environment, Contains(Key("PATH")));
  session.environment["PATH"] = "/opt/env/bin";
  EXPECT_EQ(spec().environment.at("PATH"), "/opt/env/bin");
}

TEST_F(CommandTest, NamesTheJobAfterItsClassAndLogsByLease) {
  EXPECT_EQ(spec().name, "pounce-cheetah");
  EXPECT_EQ(spec().log_path, "/home/alice/state/leases/0102030405060708.log");
  EXPECT_EQ(spec().directory, "/home/alice/work");
}

}  // namespace
}  // namespace pounce::daemon
