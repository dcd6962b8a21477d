// The records between pounced and pounce-slurm: one question or one answer, as JSON in a length-prefixed record
// (protocol/stream_framing.h). Both ends are of one build, so nothing here is versioned. Shared with
// daemon/pounce-slurm. Thread: any (values).
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "slurm/questions.h"

namespace pounce::slurm {

inline constexpr std::size_t kRecordBytes = 16 * 1024 * 1024;  // thousands of job views

struct Request {
  std::uint64_t id = 0;
  Question question;
};

// The answer, of its question's type Answer, or the error.
struct Answer {
  std::uint64_t id = 0;
  Result<std::any> value;
};

std::string encode(const Request& request);
Result<Request> decode_request(std::string_view record);
std::string encode(const Answer& answer, const Question& question);
Result<Answer> decode_answer(std::string_view record, const Question& question);

}  // namespace pounce::slurm
