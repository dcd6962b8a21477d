// Local jobs behave as batch jobs do: real child processes, waited for by their end and not by the clock.
#include "launch/local_launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/network.h"
#include "base/random_id.h"
#include "base/unique_fd.h"
#include "launch/detached_process.h"

namespace pounce::launch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LocalLauncherTest : public testing::Test {
 protected:
  LocalLauncherTest() {
    char name[] = "/tmp/pounce_local_XXXXXX";
    folder_ = ::mkdtemp(name);
    launcher_.emplace(LocalOptions{folder_});
  }
  ~LocalLauncherTest() override {
    for (const JobIdentity& job : started_) kill_session(static_cast<pid_t>(job.job.value));
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    std::filesystem::remove_all(folder_);
  }

  JobSpec spec(const std::string& script, Resources resources = {}) {
    JobSpec spec;
    spec.instance = instance_;
    spec.lease = random_id<LeaseId>();
    spec.resources = std::move(resources);
    spec.name = "pounce-" + spec.resources.class_name;
    spec.command = {"/bin/sh", "-c", script};
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.directory = folder_;
    spec.log_path = folder_ + "/log";
    return spec;
  }

  Result<JobIdentity> submit(const JobSpec& spec) {
    Result<JobIdentity> job = failure(ErrorCode::kInternal, "no answer");
    launcher_->ask(slurm::Submit{spec}, [&](Result<JobIdentity> reply) { job = std::move(reply); });
    if (job) started_.push_back(*job);
    return job;
  }

  // A job that has come to `wait` after its script; it lives until it is ended.
  JobIdentity start_waiting(const std::string& script, Resources resources = {}) {
    const std::string fifo = folder_ + "/ready";
    ::unlink(fifo.c_str());
    EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const auto job = submit(spec(script + "; echo ready > ready; while :; do sleep 1000; done", std::move(resources)));
    std::string line;
    std::ifstream(fifo) >> line;
    EXPECT_EQ(line, "ready");
    return job.value_or(JobIdentity{});
  }

  // Waits for the process to be over, leaving its status for the launcher.
  static void wait_for_end(const JobIdentity& job) {
    siginfo_t ended;
    ASSERT_EQ(::waitid(P_PID, job.job.value, &ended, WEXITED | WNOWAIT), 0);
  }

  JobView look(const JobIdentity& job) {
    JobView view;
    launcher_->ask(slurm::Poll{{job}}, [&](Result<std::vector<JobView>> views) {
      ASSERT_TRUE(views);
      ASSERT_THAT(*views, SizeIs(1));
      view = views->front();
    });
    return view;
  }

  void cancel(const JobIdentity& job) {
    bool done = false;
    launcher_->ask(slurm::Cancel{job}, [&](Result<slurm::Done> reply) { done = reply.has_value(); });
    EXPECT_TRUE(done);
  }

  std::vector<JobView> reconcile(const InstanceId& instance) {
    std::vector<JobView> found;
    launcher_->ask(slurm::Reconcile{instance}, [&](Result<std::vector<JobView>> views) { found = std::move(*views); });
    return found;
  }

  std::vector<JobView> queue() {
    std::vector<JobView> found;
    launcher_->ask(slurm::AskQueue{}, [&](Result<std::vector<JobView>> views) { found = std::move(*views); });
    return found;
  }

  std::string log() {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/log").rdbuf();
    return text.str();
  }

  std::vector<std::string> records() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().starts_with("job-")) names.push_back(entry.path());
    return names;
  }

  // What a daemon that was killed leaves to the next one; here the jobs stay our children.
  void restart_daemon() { launcher_.emplace(LocalOptions{folder_}); }

  std::string folder_;
  InstanceId instance_ = random_id<InstanceId>();
  std::optional<LocalLauncher> launcher_;
  std::vector<JobIdentity> started_;
};

// ---- how a job runs ----

TEST_F(LocalLauncherTest, RunsTheCommandWithExactlyItsEnvironmentInItsDirectory) {
  ::setenv("SLURM_JOB_ID", "7", 1);  // of the job that we run in, which the worker shows under its own name
  ::setenv("SLURM_NTASKS", "2", 1);
  JobSpec job = spec("env | sort; pwd -P");
  job.environment = {{"GREETING", "good day"}, {"PATH", "/usr/bin:/bin"}};

  const auto started = submit(job);

  ASSERT_TRUE(started);
  wait_for_end(*started);
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_NTASKS");
  EXPECT_EQ(log(), "GREETING=good day\nPATH=/usr/bin:/bin\nPOUNCE_PASSED_SLURM_JOB_ID=7\nPWD=" + folder_ + "\n" +
                       folder_ + "\n");
}

TEST_F(LocalLauncherTest, GivesAJobNoDescriptorOfTheDaemons) {
  const UniqueFd left_open(::dup(STDERR_FILENO));
  const auto job = submit(spec("ls /proc/self/fd | tr '\\n' ' '"));
  wait_for_end(*job);
  EXPECT_EQ(log(), "0 1 2 3 ") << "3 is what ls itself reads the folder by";
}

TEST_F(LocalLauncherTest, GivesAJobNoBlockedAndNoIgnoredSignals) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  auto* const old = ::signal(SIGPIPE, SIG_IGN);

  const auto job = submit(spec("grep -E 'SigBlk|SigIgn' /proc/self/status"));

  ::signal(SIGPIPE, old);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  wait_for_end(*job);
  EXPECT_EQ(log(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(LocalLauncherTest, PutsAJobIntoASessionOfItsOwn) {
  const JobIdentity job = start_waiting(":");
  EXPECT_EQ(::getsid(static_cast<pid_t>(job.job.value)), static_cast<pid_t>(job.job.value));
}

TEST_F(LocalLauncherTest, SaysWhichCommandCannotBeStarted) {
  JobSpec job = spec("");
  job.command = {"/nowhere/pounce-worker"};

  const auto started = submit(job);

  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().text, HasSubstr("/nowhere/pounce-worker"));
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(LocalLauncherTest, SaysWhichFolderIsNotThere) {
  JobSpec job = spec(":");
  job.directory = "/nowhere";
  EXPECT_THAT(submit(job).error().text, HasSubstr("/nowhere"));
}

// ---- how it ends ----

TEST_F(LocalLauncherTest, ShowsARunningJobWithWhatWasAskedAndWhoseItIs) {
  const JobIdentity job = start_waiting(":", {"lion", 0, "", 2, 512, minutes(10)});

  const JobView view = look(job);

  EXPECT_EQ(view.state, JobState::kRunning);
  EXPECT_EQ(view.end, JobEnd::kNone);
  EXPECT_EQ(view.instance, instance_);
  EXPECT_EQ(view.class_name, "lion");
  EXPECT_EQ(view.resources.cpus, 2u);
  EXPECT_EQ(view.nodes, host_name());  // as its workers call it
  EXPECT_EQ(view.end_time_s - view.start_time_s, 600);
  EXPECT_THAT(queue(), SizeIs(1));
}

TEST_F(LocalLauncherTest, CallsAJobThatExitsWithZeroCompleted) {
  const auto job = submit(spec("exit 0"));
  wait_for_end(*job);
  EXPECT_EQ(look(*job).end, JobEnd::kCompleted);
  EXPECT_THAT(queue(), IsEmpty());
}

TEST_F(LocalLauncherTest, CallsAJobThatExitsOtherwiseFailedAndTellsTheCode) {
  const auto job = submit(spec("exit 3"));
  wait_for_end(*job);
  const JobView view = look(*job);
  EXPECT_EQ(view.end, JobEnd::kFailed);
  EXPECT_EQ(view.exit_code, 3);
}

TEST_F(LocalLauncherTest, CallsAJobThatCrashesFailedAndTellsTheSignal) {
  const auto job = submit(spec("kill -SEGV $$"));
  wait_for_end(*job);
  const JobView view = look(*job);
  EXPECT_EQ(view.end, JobEnd::kFailed);
  EXPECT_EQ(view.signal, SIGSEGV);
}

TEST_F(LocalLauncherTest, CallsAJobThatSomebodyKillsCancelled) {
  const JobIdentity job = start_waiting(":");
  ::kill(static_cast<pid_t>(job.job.value), SIGKILL);
  wait_for_end(job);
  EXPECT_EQ(look(job).end, JobEnd::kCancelled);
}

TEST_F(LocalLauncherTest, ShowsACancelledJobAsEndingUntilItHasEnded) {
  const JobIdentity job = start_waiting("trap 'exit 5' TERM; sleep() { read x < never; }; mkfifo never");

  cancel(job);
  const JobView told = look(job);
  if (told.state != JobState::kEnded) wait_for_end(job);  // it may have been quick
  const JobView over = look(job);

  EXPECT_GE(told.state, JobState::kEnding);
  EXPECT_EQ(told.end, JobEnd::kCancelled);
  EXPECT_EQ(over.state, JobState::kEnded);
  EXPECT_EQ(over.end, JobEnd::kCancelled);
  EXPECT_EQ(over.exit_code, 5);
}

TEST_F(LocalLauncherTest, KillsTheWholeSessionOfAJobThatIgnoresItsCancelling) {
  const JobIdentity job = start_waiting("trap '' TERM; sleep 1000 & echo $! > other");
  pid_t other = 0;
  std::ifstream(folder_ + "/other") >> other;
  const UniqueFd watch(static_cast<int>(::syscall(SYS_pidfd_open, other, 0)));
  ASSERT_TRUE(watch);
  cancel(job);
  const TimePoint kill_at = launcher_->next_deadline();
  EXPECT_LE(kill_at, Clock::now() + seconds(30));

  launcher_->on_time(kill_at - seconds(1));
  EXPECT_EQ(look(job).state, JobState::kEnding);
  launcher_->on_time(kill_at);

  wait_for_end(job);
  EXPECT_EQ(look(job).end, JobEnd::kCancelled);
  pollfd ended{watch.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1) << "a process of its session lives on";
  EXPECT_EQ(launcher_->next_deadline(), TimePoint::max());
}

TEST_F(LocalLauncherTest, EndsAJobAtItsWalltime) {
  const JobIdentity job = start_waiting(":", {"", 0, "", 0, 0, minutes(2)});
  const TimePoint walltime = launcher_->next_deadline();
  EXPECT_LE(walltime, Clock::now() + minutes(2));
  launcher_->on_time(walltime - seconds(1));
  EXPECT_EQ(look(job).state, JobState::kRunning);

  launcher_->on_time(walltime);
  kill_session(static_cast<pid_t>(job.job.value));

  wait_for_end(job);
  EXPECT_EQ(look(job).end, JobEnd::kTimeout);
}

TEST_F(LocalLauncherTest, CallsTheCancellingOfAnUnknownJobDone) { cancel({{4'000'000}, 1, 0}); }

TEST_F(LocalLauncherTest, LeavesAProcessAloneThatOnlyHasTheNumberOfAJob) {
  const JobIdentity job = start_waiting(":");
  cancel({job.job, job.submit_time_s - 1, 0});
  EXPECT_EQ(look(job).state, JobState::kRunning);
}

TEST_F(LocalLauncherTest, CallsAJobItHasNoRecordOfGone) { EXPECT_EQ(look({{4'000'000}, 1, 0}).end, JobEnd::kGone); }

// ---- who finds it ----

TEST_F(LocalLauncherTest, ShowsAReconcileOnlyTheJobsOfItsInstanceEndedOnesToo) {
  const auto ended = submit(spec("exit 0"));
  wait_for_end(*ended);
  const JobIdentity running = start_waiting(":");
  instance_ = random_id<InstanceId>();
  const JobIdentity foreign = start_waiting(":");

  EXPECT_THAT(reconcile(instance_), SizeIs(1));
  EXPECT_EQ(reconcile(instance_).front().job_identity, foreign);
  EXPECT_THAT(reconcile(*look(running).instance), SizeIs(2));
  EXPECT_THAT(queue(), SizeIs(2));
}

TEST_F(LocalLauncherTest, FindsTheJobsOfADaemonThatDied) {
  const JobIdentity job = start_waiting(":", {"lion", 0, "", 3, 700, minutes(10)});
  const JobView before = look(job);

  restart_daemon();

  const auto found = reconcile(instance_);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].job_identity, job);
  EXPECT_EQ(found[0].lease, before.lease);
  EXPECT_EQ(found[0].name, before.name);
  EXPECT_EQ(found[0].resources, before.resources);
  EXPECT_EQ(found[0].state, JobState::kRunning);
  EXPECT_EQ(found[0].end_time_s, before.end_time_s);
  EXPECT_LE(launcher_->next_deadline(), Clock::now() + minutes(10)) << "its walltime still counts";
}

TEST_F(LocalLauncherTest, CancelsAJobOfADaemonThatDied) {
  const JobIdentity job = start_waiting(":");
  restart_daemon();

  cancel(job);

  wait_for_end(job);
  EXPECT_EQ(look(job).end, JobEnd::kCancelled);
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(LocalLauncherTest, AdmitsThatItCannotKnowHowAnInheritedJobEnded) {
  const JobIdentity job = start_waiting(":");
  restart_daemon();
  kill_session(static_cast<pid_t>(job.job.value));
  wait_for_end(job);
  EXPECT_EQ(look(job).end, JobEnd::kGone);
}

TEST_F(LocalLauncherTest, KeepsNoRecordOfAnEndedJob) {
  const auto job = submit(spec("exit 0"));
  EXPECT_THAT(records(), SizeIs(1));
  wait_for_end(*job);
  look(*job);
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(LocalLauncherTest, RunsNothingThatCouldNotBeRecorded) {
  launcher_.emplace(LocalOptions{folder_ + "/not there"});

  const auto job = submit(spec("touch ran"));

  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().text, HasSubstr("not there"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/ran"));
}

class BadRecordTest : public LocalLauncherTest {
 protected:
  // The record of a live job, changed.
  void change(const std::string& what, const std::string& to) {
    start_waiting(":");
    const std::string path = records().front();
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::string changed = text.str();
    const auto at = changed.find(what);
    ASSERT_NE(at, std::string::npos);
    changed.replace(at, std::string(what).size(), to);
    std::ofstream(path, std::ios::trunc) << changed;
    restart_daemon();
  }
};

TEST_F(BadRecordTest, OfAnotherProcessWithTheSameNumberIsDropped) {
  change("started=", "started=1");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(BadRecordTest, OfAnEarlierBootIsDropped) {
  change("boot=", "boot=0");
  EXPECT_THAT(queue(), IsEmpty());
}

TEST_F(BadRecordTest, ThatIsTornIsDropped) {
  change("end=of record\n", "");
  EXPECT_THAT(queue(), IsEmpty());
}

TEST_F(BadRecordTest, WithoutATagOfOursIsDropped) {
  change("tag=pounce:1:", "tag=other:1:");
  EXPECT_THAT(queue(), IsEmpty());
}

// ---- what there is ----

TEST_F(LocalLauncherTest, GrantsStandInsAndSaysSo) {
  launcher_.emplace(LocalOptions{folder_, 2});
  const JobIdentity job = start_waiting(":", {"", 2, "", 0, 0, {}});
  EXPECT_EQ(look(job).devices, "CPU standing in");
}

TEST_F(LocalLauncherTest, RefusesMoreGpusThanThereAreStandIns) {
  launcher_.emplace(LocalOptions{folder_, 1});
  const auto job = submit(spec(":", {"", 99, "", 0, 0, {}}));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kUnsatisfiable);
  EXPECT_THAT(job.error().text, HasSubstr("99"));
}

TEST_F(LocalLauncherTest, RefusesGpusThatTheMachineDoesNotHave) {
  const auto job = submit(spec(":", {"", 99, "", 0, 0, {}}));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kUnsatisfiable);
  EXPECT_THAT(job.error().remedy, HasSubstr("stand_in_gpus"));
}

// It used to have those of one site.
TEST_F(LocalLauncherTest, HasNoClassesAndTakesAnyName) {
  ClusterFacts told;
  launcher_->ask(slurm::AskFacts{}, [&](Result<ClusterFacts> facts) { told = *facts; });
  EXPECT_EQ(told.cluster, "local");
  EXPECT_THAT(told.classes, IsEmpty());
  EXPECT_EQ(told.default_class, "");
  EXPECT_TRUE(submit(spec(":", {"tiger", 0, "", 0, 0, {}})));
}

// ---- a room that is counted -----------------------------------------------------------------------------------------

class RoomTest : public LocalLauncherTest {
 protected:
  RoomTest() {
    gate_ = folder_ + "/gate";
    EXPECT_EQ(::mkfifo(gate_.c_str(), 0600), 0);
    launcher_.emplace(options());
  }
  ~RoomTest() override { open_gate(); }  // its jobs are not known by their processes' numbers

  LocalOptions options() { return {.folder = folder_, .rooms = {room_of(1, 0, "2,MIG-7")}}; }
  JobSpec gated(const std::string& script = ":") { return spec("read line < gate; " + script); }

  // Whoever waits at it goes on; nobody does: nothing happens.
  void open_gate() {
    const UniqueFd gate(::open(gate_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    EXPECT_EQ(::write(gate.get(), "\n", 1), 1);
    siginfo_t ended;
    ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
  }

  std::string gate_;
};

TEST_F(RoomTest, WhatDoesNotFitWaitsUntilSomethingHasEnded) {
  const auto first = submit(gated()), second = submit(spec("echo $CUDA_VISIBLE_DEVICES", {"", 2, "", 0, 0, {}}));
  EXPECT_EQ(look(*first).state, JobState::kRunning);
  EXPECT_EQ(look(*second).state, JobState::kQueued);
  EXPECT_EQ(look(*second).reason, "Resources");
  EXPECT_LT(launcher_->next_deadline(), Clock::now() + seconds(1));

  open_gate();
  launcher_->on_time(Clock::now());

  EXPECT_EQ(look(*first).end, JobEnd::kCompleted);
  siginfo_t ended;
  ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
  EXPECT_EQ(look(*second).end, JobEnd::kCompleted);
  EXPECT_EQ(look(*second).devices, "gpu:2(IDX:0,1)");
  EXPECT_EQ(log(), "2,MIG-7\n");
}

TEST_F(RoomTest, AGpuThatFailedUnderALeaseIsGivenToNobodyAnyMore) {
  JobSpec holder = spec("read line < gate", {"", 1, "", 0, 0, {}});
  const auto first = submit(holder), second = submit(spec("echo $CUDA_VISIBLE_DEVICES", {"", 1, "", 0, 0, {}}));

  launcher_->leave_out(random_id<LeaseId>(), "2");  // of a lease that is not here
  launcher_->leave_out(holder.lease, "MIG-7");      // it has another one
  launcher_->leave_out(holder.lease, "2");
  open_gate();
  launcher_->on_time(Clock::now());

  EXPECT_EQ(look(*first).end, JobEnd::kCompleted);
  siginfo_t ended;
  ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
  EXPECT_EQ(look(*second).end, JobEnd::kCompleted);
  EXPECT_EQ(log(), "MIG-7\n");
}

TEST_F(RoomTest, OneThatWaitsIsCancelledWithoutHavingRun) {
  const auto first = submit(gated()), second = submit(spec("echo ran")), third = submit(spec("echo third"));

  cancel(*second);

  EXPECT_EQ(look(*second).end, JobEnd::kCancelled);
  open_gate();
  launcher_->on_time(Clock::now());
  siginfo_t ended;
  ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
  EXPECT_EQ(look(*third).end, JobEnd::kCompleted);
  EXPECT_EQ(log(), "third\n");
}

TEST_F(RoomTest, ACancelledOneIsNotWaitedForAnyMore) {
  submit(gated());
  const auto second = submit(spec("echo ran"));

  cancel(*second);

  EXPECT_GT(launcher_->next_deadline(), Clock::now() + seconds(60)) << "nobody looks for room";
}

TEST_F(RoomTest, WhatNeverFitsIsRefused) {
  const auto job = submit(spec(":", {"", 3, "", 0, 0, {}}));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kUnsatisfiable);
  EXPECT_THAT(job.error().text, HasSubstr("2 GPUs on this node"));
}

TEST_F(RoomTest, ALaterDaemonFindsAJobUnderItsNumberAndCountsIt) {
  const auto first = submit(gated());

  launcher_.emplace(options());

  EXPECT_EQ(look(*first).state, JobState::kRunning);
  EXPECT_EQ(look(*submit(gated())).state, JobState::kQueued);
}

}  // namespace
}  // namespace pounce::launch
