// The records between pounced and pounce-slurm come back as they went, and nothing malformed gets through.
#include "slurm/wire.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pounce::slurm {
namespace {

using nlohmann::json;

InstanceId instance() { return *InstanceId::from_hex("0123456789ab"); }
LeaseId lease() { return *LeaseId::from_hex("00112233445566ff"); }

Request a_submit() {
  Request request;
  request.id = 7;
  request.operation = Operation::kSubmit;
  request.spec.instance = instance();
  request.spec.lease = lease();
  request.spec.resources = {"cheetah", 2, "a100_3g.20gb", 4, 8192, std::chrono::minutes(20)};
  request.spec.name = "pounce-cheetah";
  request.spec.command = {"/usr/bin/pounce-worker", "serve", "it's \"quoted\"\n"};
  request.spec.environment = {{"HOME", "/home/alice"}, {"EMPTY", ""}};
  request.spec.directory = "/home/alice/work";
  request.spec.log_path = "/home/alice/log";
  return request;
}

JobView a_view() {
  JobView view;
  view.incarnation = {{4711}, 1'700'000'000, 2};
  view.instance = instance();
  view.lease = lease();
  view.name = "pounce-cheetah";
  view.class_name = "cheetah";
  view.state = JobState::kEnding;
  view.end = JobEnd::kOutOfMemory;
  view.raw_state = 0x800b;
  view.state_name = "OUT_OF_MEMORY";
  view.reason = "OutOfMemory";
  view.reason_word = "NonZeroExitCode";
  view.limit = {"gres/gpu:a100", 4, 3, 2};
  view.ahead = 7;
  view.nodes = "g1";
  view.devices = "gpu:a100:1(IDX:0)";
  view.resources = {"cheetah", 1, "a100", 0, 0, std::chrono::minutes(30)};
  view.submit_time_s = 1'700'000'000;
  view.start_time_s = 1'700'000'001;
  view.end_time_s = 1'700'000'002;
  view.exit_code = 3;
  view.signal = 9;
  return view;
}

TEST(WireTest, ASubmitArrivesWhole) {
  const Request sent = a_submit();
  const auto got = decode_request(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, 7u);
  EXPECT_EQ(got->operation, Operation::kSubmit);
  EXPECT_EQ(got->spec.instance, sent.spec.instance);
  EXPECT_EQ(got->spec.lease, sent.spec.lease);
  EXPECT_EQ(got->spec.resources, sent.spec.resources);
  EXPECT_EQ(got->spec.name, sent.spec.name);
  EXPECT_EQ(got->spec.command, sent.spec.command);
  EXPECT_EQ(got->spec.environment, sent.spec.environment);
  EXPECT_EQ(got->spec.directory, sent.spec.directory);
  EXPECT_EQ(got->spec.log_path, sent.spec.log_path);
}

TEST(WireTest, EachOperationArrivesAsItself) {
  for (int operation = 0; operation <= static_cast<int>(Operation::kLook); ++operation) {
    Request request;
    request.operation = static_cast<Operation>(operation);
    request.jobs = {{{1}, 2, 3}, {{4}, 5, 6}};
    request.instance = instance();
    const auto got = decode_request(encode(request));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->operation, request.operation);
    EXPECT_EQ(got->jobs, request.jobs);
    EXPECT_EQ(got->instance, request.instance);
  }
}

TEST(WireTest, AJobViewArrivesWhole) {
  Answer answer;
  answer.jobs = {a_view(), JobView{}};
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->jobs.size(), 2u);
  const JobView sent = a_view(), &view = got->jobs[0];
  EXPECT_EQ(view.incarnation, sent.incarnation);
  EXPECT_EQ(view.instance, sent.instance);
  EXPECT_EQ(view.lease, sent.lease);
  EXPECT_EQ(view.state, sent.state);
  EXPECT_EQ(view.end, sent.end);
  EXPECT_EQ(view.resources, sent.resources);
  EXPECT_EQ(
      std::tie(view.name, view.class_name, view.raw_state, view.state_name, view.reason, view.nodes, view.devices),
      std::tie(sent.name, sent.class_name, sent.raw_state, sent.state_name, sent.reason, sent.nodes, sent.devices));
  EXPECT_EQ(std::tie(view.submit_time_s, view.start_time_s, view.end_time_s, view.exit_code, view.signal),
            std::tie(sent.submit_time_s, sent.start_time_s, sent.end_time_s, sent.exit_code, sent.signal));
  EXPECT_EQ(std::tie(view.reason_word, view.limit, view.ahead), std::tie(sent.reason_word, sent.limit, sent.ahead));
  EXPECT_FALSE(got->jobs[1].instance);
  EXPECT_FALSE(got->jobs[1].lease);
}

TEST(WireTest, ClassesArriveWhole) {
  Answer answer;
  answer.classes = {{{"lion", true, 1440, 4, 3, 9, 5, 8, 2, 4}}, {{"a100", 6, 2}}};
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->classes.classes.size(), 1u);
  ASSERT_EQ(got->classes.gpus.size(), 1u);
  EXPECT_EQ(encode(*got), encode(answer));  // and with it each field
  EXPECT_EQ(got->classes.classes[0].gpus_job, 4);
  EXPECT_EQ(got->classes.gpus[0].free, 2u);
}

TEST(WireTest, ASurveyArrivesWhole) {
  Answer answer;
  answer.survey = {"bigcats",
                   {{{"lion", true}}, {{"a100", 6, 2}}},
                   {{"g1", {"bigcats", "housecats"}, false, 32, 30, 131072, 65536, {{"a100", 4, 3}}}},
                   {"g2"}};
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->survey.nodes.size(), 1u);
  EXPECT_EQ(encode(*got), encode(answer));
  EXPECT_FALSE(got->survey.nodes[0].takes_work);
  EXPECT_EQ(got->survey.nodes[0].gpus[0].free, 3u);
  EXPECT_EQ(got->survey.default_partition, "bigcats");
}

TEST(WireTest, ASubmissionHasWhatThePolicyDecided) {
  Request request;
  request.operation = Operation::kSubmit;
  request.spec.qos = "fast";
  request.spec.partition = "bigcats";
  request.spec.prologue = "module load cuda";
  request.spec.resources.not_nodes = "g1";
  request.spec.resources.account = "ml";
  request.spec.resources.reservation = "course";
  request.spec.resources.slurm = {{"nice", "5"}};
  const auto got = decode_request(encode(request));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->spec.resources, request.spec.resources);
  EXPECT_EQ(std::tie(got->spec.qos, got->spec.partition, got->spec.prologue),
            std::tie(request.spec.qos, request.spec.partition, request.spec.prologue));
}

TEST(WireTest, FactsArriveWhole) {
  Answer answer;
  answer.facts = {"pounce0",     "slurm 22.05.8", "/run/munge.sock", "auth/munge",
                  "10.77.0.254", "bigcats",       "cheetah",         true, {{"cheetah", std::chrono::minutes(30), 20, 0}}};
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->facts.cluster, "pounce0");
  EXPECT_EQ(got->facts.default_class, "cheetah");
  ASSERT_EQ(got->facts.classes.size(), 1u);
  EXPECT_EQ(got->facts.classes[0].max_time, std::chrono::minutes(30));
  EXPECT_EQ(got->facts.classes[0].max_running_per_user, 20u);
}

TEST(WireTest, AnErrorArrivesWithItsEvidence) {
  Answer answer;
  answer.error = Error{ErrorCode::kUnknownClass, "no such class", "Name another.", {{"slurm_code", "2066"}}};
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error, answer.error);
}

TEST(WireTest, TextThatIsNotUtf8IsReplacedAndNotFatal) {
  Answer answer;
  answer.jobs = {a_view()};
  answer.jobs[0].name = "caf\xe9";
  const auto got = decode_answer(encode(answer));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->jobs[0].name, "caf\xef\xbf\xbd");
}

TEST(WireTest, WhatIsNoRecordIsAProtocolError) {
  for (const char* record : {"", "null", "[]", "{}", "{\"id\":1", "{\"id\":\"x\",\"operation\":0}", "\xff\xfe"}) {
    const auto request = decode_request(record);
    const auto answer = decode_answer(record);
    ASSERT_FALSE(request) << record;
    ASSERT_FALSE(answer) << record;
    EXPECT_EQ(request.error().code, ErrorCode::kProtocol);
    EXPECT_EQ(answer.error().code, ErrorCode::kProtocol);
  }
}

TEST(WireTest, QosComeBackAsTheyWent) {
  const Qos limited{"cheetah", std::chrono::minutes(30), 20, 0, 20, {"normal"}, std::chrono::seconds(90), true};
  Request request;
  request.operation = Operation::kWriteQos;
  request.qos = {limited, Qos{"plain"}};
  Answer answer;
  answer.qos.user = "root";
  answer.qos.has_database = true;
  answer.qos.qos = request.qos;

  EXPECT_EQ(decode_request(encode(request))->qos, request.qos);
  EXPECT_EQ(decode_answer(encode(answer))->qos.qos, request.qos);
  EXPECT_EQ(decode_answer(encode(answer))->qos.user, "root");
}

TEST(WireTest, ANumberThatIsNoStateIsRefused) {
  Answer answer;
  answer.jobs = {a_view()};
  for (const char* field : {"state", "end"}) {
    json record = json::parse(encode(answer));
    record["jobs"][0][field] = 77;
    EXPECT_FALSE(decode_answer(record.dump())) << field;
  }
}

TEST(WireTest, AnIdThatIsNoHexIsRefused) {
  json record = json::parse(encode(a_submit()));
  record["instance"] = "not an id";
  EXPECT_FALSE(decode_request(record.dump()));
}

}  // namespace
}  // namespace pounce::slurm
