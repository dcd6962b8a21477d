// What every Launcher promises to pounced, asked of each one there is: the local launcher always, Slurm through the
// real pounce-slurm where SLURM_CONF names a cluster and we are an ordinary user (tests/slurm runs it so). Slurm takes
// its time, so a test waits for what it asks about, up to a deadline.
#include "launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/random_id.h"
#include "launch/local_launcher.h"
#include "slurm/slurm_gateway.h"

namespace pounce::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A launcher with what its owner must do for it.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Launcher& launcher() = 0;
  virtual void serve(milliseconds at_most) = 0;  // returns after news, or later
};

class LocalBackend final : public Backend {
 public:
  explicit LocalBackend(const std::string& folder) : launcher_({folder}) {}
  Launcher& launcher() override { return launcher_; }
  void serve(milliseconds at_most) override {
    ::poll(nullptr, 0, static_cast<int>(at_most.count()));
    launcher_.on_time(Clock::now());
  }

 private:
  LocalLauncher launcher_;
};

class SlurmBackend final : public Backend, public Launcher {
 public:
  SlurmBackend(const std::string& program, const std::string& conf)
      : gateway_({program, seconds(30), {{"SLURM_CONF", conf}}}) {}
  Launcher& launcher() override { return *this; }
  void send(slurm::Question question, Reply<std::any> reply) override {
    gateway_.send(std::move(question), std::move(reply));
  }
  void serve(milliseconds at_most) override {
    pollfd source{gateway_.fd(), POLLIN, 0};
    if (::poll(&source, 1, static_cast<int>(at_most.count())) > 0) gateway_.on_readable();
    gateway_.on_time(Clock::now());
  }

 private:
  slurm::SlurmGateway gateway_;
};

std::string why_no_slurm() {
  if (std::getenv("SLURM_CONF") == nullptr) return "SLURM_CONF is unset: there is no cluster to ask";
  if (std::getenv("POUNCE_SLURM_PROGRAM") == nullptr)
    return "POUNCE_SLURM_PROGRAM does not name the pounce-slurm to use";
  if (::geteuid() == 0) return "root may not lease workers from Slurm; run as an ordinary user";
  return {};
}

class LauncherContract : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pounce_contract_XXXXXX";
    folder_ = ::mkdtemp(name);
    if (std::string(GetParam()) == "local") {
      backend_ = std::make_unique<LocalBackend>(folder_);
      return;
    }
    if (const std::string why = why_no_slurm(); !why.empty()) GTEST_SKIP() << why;
    backend_ = std::make_unique<SlurmBackend>(std::getenv("POUNCE_SLURM_PROGRAM"), std::getenv("SLURM_CONF"));
  }

  void TearDown() override {
    for (const JobIdentity& job : started_) {
      cancel(job);
      wait_until_ended(job);
    }
    std::filesystem::remove_all(folder_);
  }

  template <class Asked>
  Result<typename Asked::Answer> ask(Asked question) {
    using T = typename Asked::Answer;
    std::optional<Result<T>> answer;
    int answers = 0;
    backend_->launcher().ask(std::move(question), [&](Result<T> reply) {
      ++answers;
      answer = std::move(reply);
    });
    for (const TimePoint deadline = Clock::now() + seconds(60); !answer && Clock::now() < deadline;)
      backend_->serve(milliseconds(100));
    EXPECT_EQ(answers, 1);
    return answer.value_or(failure(ErrorCode::kInternal, "no answer"));
  }

  JobSpec spec(const std::string& script, Resources resources = {"cheetah", 0, "", 0, 100, {}}) {
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
    auto job = ask(slurm::Submit{spec});
    if (job) started_.push_back(*job);
    return job;
  }

  bool cancel(const JobIdentity& job) { return ask(slurm::Cancel{job}).has_value(); }

  std::vector<JobView> poll(const std::vector<JobIdentity>& jobs) {
    return ask(slurm::Poll{jobs}).value_or(std::vector<JobView>{});
  }

  std::vector<JobView> reconcile(const InstanceId& instance) {
    return ask(slurm::Reconcile{instance}).value_or(std::vector<JobView>{});
  }

  std::vector<JobView> queue() { return ask(slurm::AskQueue{}).value_or(std::vector<JobView>{}); }

  // The first look at the job that is in this state or beyond it.
  JobView wait_until(const JobIdentity& job, JobState state) {
    JobView view;
    for (const TimePoint deadline = Clock::now() + seconds(60); Clock::now() < deadline;) {
      const auto views = poll({job});
      if (views.size() != 1) break;
      view = views[0];
      if (view.state >= state) return view;
      backend_->serve(milliseconds(100));
    }
    ADD_FAILURE() << "job " << job.job.value << " did not come to state " << static_cast<int>(state) << ", it is "
                  << view.state_name << " " << view.reason;
    return view;
  }
  JobView wait_until_ended(const JobIdentity& job) { return wait_until(job, JobState::kEnded); }

  std::string log() {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/log").rdbuf();
    return text.str();
  }

  std::string folder_;
  InstanceId instance_ = random_id<InstanceId>();
  std::unique_ptr<Backend> backend_;
  std::vector<JobIdentity> started_;
};

auto job_is(const JobIdentity& job) { return Field(&JobView::job_identity, job); }

TEST_P(LauncherContract, TellsTheCluster) {
  const auto facts = ask(slurm::AskFacts{});

  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->cluster.empty());
  EXPECT_FALSE(facts->controller_address.empty());
}

TEST_P(LauncherContract, FindsASubmittedJobByNumberByTagAndInTheQueue) {
  const JobSpec asked = spec("sleep 1000");

  const auto job = submit(asked);

  ASSERT_TRUE(job) << job.error().text;
  EXPECT_NE(job->submit_time_s, 0);
  const auto views = poll({*job});
  ASSERT_THAT(views, SizeIs(1));
  EXPECT_EQ(views[0].job_identity, *job);
  EXPECT_EQ(views[0].instance, instance_);
  EXPECT_EQ(views[0].lease, asked.lease);
  EXPECT_EQ(views[0].class_name, "cheetah");
  EXPECT_EQ(views[0].name, "pounce-cheetah");
  EXPECT_THAT(reconcile(instance_), testing::ElementsAre(job_is(*job)));
  EXPECT_THAT(queue(), Contains(job_is(*job)));
}

TEST_P(LauncherContract, ShowsNoInstanceTheJobsOfAnother) {
  const auto job = submit(spec("sleep 1000"));
  ASSERT_TRUE(job);
  EXPECT_THAT(reconcile(random_id<InstanceId>()), IsEmpty());
}

TEST_P(LauncherContract, RunsAJobAndTellsWhereAndSinceWhen) {
  const auto job = submit(spec("sleep 1000"));
  ASSERT_TRUE(job);

  const JobView view = wait_until(*job, JobState::kRunning);

  EXPECT_EQ(view.state, JobState::kRunning);
  EXPECT_EQ(view.end, JobEnd::kNone);
  EXPECT_FALSE(view.nodes.empty());
  EXPECT_GE(view.start_time_s, view.submit_time_s);
}

TEST_P(LauncherContract, GivesTheCommandItsWordsUnchangedAndItsFolder) {
  JobSpec asked = spec("");
  asked.command = {"/bin/sh", "-c", "printf '[%s]' \"$@\"; pwd -P", "sh", "it's", "a b", "$HOME", "`id`", "\"", "",
                   "\\n",     "ü"};
  const auto job = submit(asked);
  ASSERT_TRUE(job);

  wait_until_ended(*job);

  EXPECT_EQ(log(), "[it's][a b][$HOME][`id`][\"][][\\n][ü]" + folder_ + "\n");
}

TEST_P(LauncherContract, GivesTheJobItsEnvironmentAndNothingOfOurs) {
  ::setenv("POUNCE_OURS", "1", 1);
  JobSpec asked = spec("echo \"$GREETING|$POUNCE_OURS|$HOME\"");
  asked.environment = {{"GREETING", "it's a 'good' day"}, {"PATH", "/usr/bin:/bin"}};
  const auto job = submit(asked);
  ASSERT_TRUE(job);

  wait_until_ended(*job);

  EXPECT_EQ(log(), "it's a 'good' day||\n");
}

TEST_P(LauncherContract, CallsAJobThatExitsWithZeroCompleted) {
  const auto job = submit(spec("exit 0"));
  ASSERT_TRUE(job);
  EXPECT_EQ(wait_until_ended(*job).end, JobEnd::kCompleted);
  EXPECT_THAT(reconcile(instance_), Contains(job_is(*job))) << "a reconciliation shows ended jobs too";
  EXPECT_THAT(queue(), Not(Contains(job_is(*job)))) << "the queue does not";
}

TEST_P(LauncherContract, CallsAJobThatExitsOtherwiseFailedAndTellsTheCode) {
  const auto job = submit(spec("exit 3"));
  ASSERT_TRUE(job);
  const JobView view = wait_until_ended(*job);
  EXPECT_EQ(view.end, JobEnd::kFailed);
  EXPECT_EQ(view.exit_code, 3);
}

TEST_P(LauncherContract, EndsACancelledJobAndCallsItSo) {
  const auto job = submit(spec("exec sleep 1000"));
  ASSERT_TRUE(job);
  wait_until(*job, JobState::kRunning);

  EXPECT_TRUE(cancel(*job));

  EXPECT_EQ(wait_until_ended(*job).end, JobEnd::kCancelled);
  EXPECT_TRUE(cancel(*job)) << "a job that is gone counts as cancelled";
}

TEST_P(LauncherContract, CallsTheCancellingOfAJobThatNeverWasDone) { EXPECT_TRUE(cancel({{3'999'999}, 1, 0})); }

TEST_P(LauncherContract, PollsSeveralJobsAtOnceAndCallsTheUnknownGone) {
  const auto one = submit(spec("sleep 1000")), two = submit(spec("sleep 1000"));
  ASSERT_TRUE(one && two);

  const auto views = poll({*one, {{3'999'999}, 1, 0}, *two});

  ASSERT_THAT(views, SizeIs(3));
  EXPECT_THAT(views, Contains(job_is(*one)));
  EXPECT_THAT(views, Contains(job_is(*two)));
  EXPECT_THAT(views, Contains(AllOf(Field(&JobView::state, JobState::kEnded), Field(&JobView::end, JobEnd::kGone))));
}

TEST_P(LauncherContract, CallsAJobGoneWhoseNumberWasGivenToAnother) {
  const auto job = submit(spec("sleep 1000"));
  ASSERT_TRUE(job);
  const auto views = poll({{job->job, job->submit_time_s - 1000, job->restart}});
  ASSERT_THAT(views, SizeIs(1));
  EXPECT_EQ(views[0].end, JobEnd::kGone);
}

TEST_P(LauncherContract, RefusesMoreGpusThanThereAreAtOnce) {
  const auto job = submit(spec("exit 0", {"cheetah", 99, "", 0, 100, {}}));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kUnsatisfiable);
  // Slurm keeps a record of what it refused, with our tag and the state FAILED.
  EXPECT_THAT(reconcile(instance_), Each(Field(&JobView::state, JobState::kEnded)));
  EXPECT_THAT(queue(), Not(Contains(Field(&JobView::instance, instance_))));
}

INSTANTIATE_TEST_SUITE_P(Each, LauncherContract, testing::Values("local", "slurm"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pounce::launch
