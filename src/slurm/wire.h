// The records between pounced and pounce-slurm: one request, one answer, as JSON in a length-prefixed record
// (protocol/stream_framing.h). Both ends are of one build, so nothing here is versioned. Shared with
// daemon/pounce-slurm. Thread: any (values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/cluster.h"
#include "pounce/error.h"
#include "pounce/job.h"
#include "pounce/qos.h"
#include "pounce/result.h"
#include "pounce/room.h"
#include "pounce/usage.h"

namespace pounce::slurm {

inline constexpr std::size_t kRecordBytes = 16 * 1024 * 1024;  // thousands of job views

enum class Operation : std::uint8_t { kFacts, kSubmit, kCancel, kPoll, kSweep, kQueue, kVersion, kClasses, kReadQos, kWriteQos, kNote, kHoldings, kUsage, kSurvey, kLook };

struct Request {
  std::uint64_t id = 0;
  Operation operation = Operation::kFacts;
  JobSpec spec;                   // submit
  std::vector<Incarnation> jobs;  // cancel (one), note (one), poll, look
  InstanceId instance;            // sweep
  std::vector<Qos> qos;           // write_qos: as they are to be
  std::string note;               // note: the job's comment from now on
  std::int64_t from_s = 0;        // usage: unix
  std::string not_nodes;          // survey: "g[1-3]", to be told as names
};

struct Answer {
  std::uint64_t id = 0;
  std::optional<Error> error;  // then nothing below counts
  ClusterFacts facts;
  Incarnation job;            // submit
  std::vector<JobView> jobs;  // poll, sweep, queue
  std::string version;
  QosFacts qos;  // read_qos, write_qos
  ClassReport classes;
  Holdings holdings;
  UsageFacts usage;
  Survey survey;
  QueueLook look;
};

std::string encode(const Request& request);
std::string encode(const Answer& answer);
Result<Request> decode_request(std::string_view record);
Result<Answer> decode_answer(std::string_view record);

}  // namespace pounce::slurm
