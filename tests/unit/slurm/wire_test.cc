// The records between pounced and pounce-slurm come back as they went, and nothing malformed gets through.
#include "slurm/wire.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pounce::slurm {
namespace {

using nlohmann::json;

InstanceId instance() { return *InstanceId::from_hex("0123456789ab"); }
LeaseId lease() { return *LeaseId::from_hex("00112233445566ff"); }

Submit a_submit() {
  Submit submit;
  submit.spec.instance = instance();
  submit.spec.lease = lease();
  submit.spec.resources = {"cheetah", 2, "a100_3g.20gb", 4, 8192, std::chrono::minutes(20)};
  submit.spec.resources.reservation = "course";
  submit.spec.resources.slurm = {{"nice", "5"}};
  submit.spec.qos = "fast";
  submit.spec.partition = "bigcats";
  submit.spec.prologue = "module load cuda";
  submit.spec.name = "pounce-cheetah";
  submit.spec.command = {"/usr/bin/pounce-worker", "serve", "it's \"quoted\"\n"};
  submit.spec.environment = {{"HOME", "/home/alice"}, {"EMPTY", ""}};
  submit.spec.directory = "/home/alice/work";
  submit.spec.log_path = "/home/alice/log";
  return submit;
}

JobView a_view() {
  JobView view;
  view.job_identity = {{4711}, 1'700'000'000, 2};
  view.instance = instance();
  view.lease = lease();
  view.name = "pounce-cheetah";
  view.state = JobState::kEnding;
  view.end = JobEnd::kOutOfMemory;
  view.raw_state = 0x800b;
  view.limit = {"gres/gpu:a100", 4, 3, 2};
  view.ahead = 7;
  view.resources = {"cheetah", 1, "a100", 0, 0, std::chrono::minutes(30)};
  view.exit_code = 3;
  return view;
}

// There and back: the same text, so each field arrives.
template <class Asked>
typename Asked::Answer arrived(const Asked& asked, typename Asked::Answer answer) {
  const std::string sent = encode(Answer{7, std::any(std::move(answer))}, asked);
  const auto got = decode_answer(sent, asked);
  EXPECT_TRUE(got && got->value) << sent;
  EXPECT_EQ(encode(*got, asked), sent);
  EXPECT_EQ(got->id, 7u);
  return std::any_cast<typename Asked::Answer>(*got->value);
}

TEST(WireTest, ASubmitArrivesWhole) {
  const Submit sent = a_submit();
  const auto got = decode_request(encode(Request{7, sent}));
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(got->id, 7u);
  const JobSpec& spec = std::get<Submit>(got->question).spec;
  EXPECT_EQ(spec.resources, sent.spec.resources);
  EXPECT_EQ(spec.command, sent.spec.command);
  EXPECT_EQ(spec.environment, sent.spec.environment);
  EXPECT_EQ(encode(*got), encode(Request{7, sent}));
}

template <class... Asked>
std::vector<Question> one_of_each(const std::variant<Asked...>*) {
  return {Asked{}...};
}

TEST(WireTest, EachQuestionArrivesAsItself) {
  for (const Question& question : one_of_each(static_cast<const Question*>(nullptr))) {
    const auto got = decode_request(encode(Request{1, question}));
    ASSERT_TRUE(got) << got.error().text;
    EXPECT_EQ(got->question.index(), question.index());
  }
}

TEST(WireTest, AJobViewArrivesWhole) {
  const auto got = arrived(Poll{}, {a_view(), JobView{}});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].job_identity, a_view().job_identity);
  EXPECT_EQ(got[0].lease, lease());
  EXPECT_EQ(got[0].state, JobState::kEnding);
  EXPECT_EQ(got[0].end, JobEnd::kOutOfMemory);
  EXPECT_EQ(got[0].limit, a_view().limit);
  EXPECT_FALSE(got[1].instance);
  EXPECT_FALSE(got[1].lease);
}

TEST(WireTest, ClassesFactsAndSnapshotsArriveWhole) {
  const ClassReport report{{{"lion", true, 1440, 4, 3, 9, 5, 8, 2, 4}}, {{"a100", 6, 2}}};
  EXPECT_EQ(arrived(AskClasses{}, report).classes[0].gpus_job, 4);
  const ClusterFacts facts{"pounce0",
                           "slurm 22.05.8",
                           "/run/munge.sock",
                           "auth/munge",
                           "10.77.0.254",
                           "bigcats",
                           "cheetah",
                           true,
                           {{"cheetah", std::chrono::minutes(30), 20, 0}}};
  EXPECT_EQ(arrived(AskFacts{}, facts).classes.at(0).max_time, std::chrono::minutes(30));
  const ClusterSnapshot cluster_snapshot{
      "bigcats", report, {{"g1", {"bigcats"}, false, 32, 30, 131072, 65536, {{"a100", 4, 3}}}}, {"g2"}};
  EXPECT_EQ(arrived(AskClusterSnapshot{}, cluster_snapshot).nodes.at(0).gpus.at(0).free, 3u);
}

TEST(WireTest, QosComeBackAsTheyWent) {
  const Qos limited{.name = "cheetah",
                    .walltime = std::chrono::minutes(30),
                    .running_jobs_per_user = 20,
                    .submitted_jobs_per_user = 30,
                    .gpus_per_user = 0,
                    .priority = 20,
                    .preempts = {"normal"},
                    .grace = std::chrono::seconds(90),
                    .deny_on_limit = true};
  const WriteQos asked{{limited, Qos{"plain"}}};
  EXPECT_EQ(std::get<WriteQos>(decode_request(encode(Request{1, asked}))->question).qos, asked.qos);
  QosFacts facts;
  facts.user = "root";
  facts.qos = asked.qos;
  EXPECT_EQ(arrived(asked, facts).qos, asked.qos);
}

TEST(WireTest, JobsOfThePastArriveWholeAndWhatIsUnknownOfThemStaysSo) {
  AccountedJob job;
  job.job = 7, job.submit_s = 1'795'000'000, job.user = "alice", job.gpu_types = {{"a100", 2}}, job.busy_s = 0;
  const AccountedPage page = arrived(AskJobs{1, 2, 3, true}, {{job, AccountedJob{}}, 9, true});
  ASSERT_EQ(page.jobs.size(), 2u);
  EXPECT_EQ(page.jobs[0].gpu_types.at("a100"), 2u);
  EXPECT_EQ(page.jobs[0].busy_s, 0);
  EXPECT_EQ(page.jobs[1].busy_s, -1);
  EXPECT_EQ(page.last, 9u);
  EXPECT_TRUE(page.more);
  EXPECT_TRUE(arrived(AskNodeEvents{1, 2}, {{"g1", "power", 5, 6, true}}).front().down);
  EXPECT_TRUE(arrived(AskAccounting{}, {"pounce", 5, true, true, true, true, false, {{"g1", "a100"}}}).hides_others);
}

TEST(WireTest, AnErrorArrivesWithItsEvidence) {
  const Error error{ErrorCode::kUnknownClass, "no such class", "Name another.", {{"slurm_code", "2066"}}};
  const auto got = decode_answer(encode(Answer{1, failure(error)}, AskFacts{}), AskFacts{});
  ASSERT_TRUE(got);
  ASSERT_FALSE(got->value);
  EXPECT_EQ(got->value.error(), error);
}

TEST(WireTest, TextThatIsNotUtf8IsReplacedAndNotFatal) {
  JobView view;
  view.name = "caf\xe9";
  const auto got = decode_answer(encode(Answer{1, std::any(std::vector{view})}, AskQueue{}), AskQueue{});
  ASSERT_TRUE(got && got->value);
  EXPECT_EQ(std::any_cast<std::vector<JobView>>(*got->value).at(0).name, "caf\xef\xbf\xbd");
}

TEST(WireTest, WhatIsNoRecordIsAProtocolError) {
  for (const char* record : {"", "null", "[]", "{}", R"({"id":1)", R"({"id":"x","ask":"facts","of":{}})",
                             R"({"id":1,"ask":"coffee","of":{}})", "\xff\xfe"}) {
    const auto request = decode_request(record);
    const auto answer = decode_answer(record, AskFacts{});
    ASSERT_FALSE(request) << record;
    ASSERT_FALSE(answer) << record;
    EXPECT_EQ(request.error().code, ErrorCode::kProtocol);
    EXPECT_EQ(answer.error().code, ErrorCode::kProtocol);
  }
}

TEST(WireTest, AWordThatIsNoStateIsRefused) {
  for (const char* field : {"state", "end"}) {
    json record = json::parse(encode(Answer{1, std::any(std::vector{a_view()})}, Poll{}));
    record["answer"][0][field] = "meditating";
    EXPECT_FALSE(decode_answer(record.dump(), Poll{})) << field;
  }
}

TEST(WireTest, AnIdThatIsNoHexIsRefused) {
  json record = json::parse(encode(Request{1, Reconcile{instance()}}));
  record["of"]["instance"] = "not an id";
  EXPECT_FALSE(decode_request(record.dump()));
}

}  // namespace
}  // namespace pounce::slurm
