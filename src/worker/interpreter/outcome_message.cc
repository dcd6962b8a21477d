#include "worker/interpreter/outcome_message.h"

#include "protocol/message_limits.h"

namespace pounce::worker {
namespace {

// Header, pickle and perhaps memory are frames too.
constexpr std::size_t kInlineBuffers = protocol::kFramesPerMessage - 3;

std::size_t inline_count(const std::vector<SharedBytes>& buffers) {
  std::size_t count = 0;
  while (count < buffers.size() && count < kInlineBuffers && buffers[count]->size() < protocol::kInlineBytes) ++count;
  return count;
}

}  // namespace

OutcomeMessage outcome_message(const TaskId& task, const KeptOutcome& outcome) {
  const JobResult& result = outcome.result;
  OutcomeMessage message;
  message.header.task = task;
  message.header.ok = result.ok;
  if (!result.ok) message.header.error = result.error;
  message.header.received_ns = outcome.received_ns;
  message.header.run = result.run;
  message.header.pickle_follows = result.pickle->size() > protocol::kInlineBytes;
  const std::size_t inlined = message.header.pickle_follows ? 0 : inline_count(result.buffers);
  if (message.header.pickle_follows) {
    static const SharedBytes kEmpty = own_bytes({});
    message.payload.push_back(kEmpty);
    message.bulk.push_back(result.pickle);
  } else {
    message.payload.push_back(result.pickle);
    message.payload.insert(message.payload.end(), result.buffers.begin(), result.buffers.begin() + inlined);
  }
  message.bulk.insert(message.bulk.end(), result.buffers.begin() + inlined, result.buffers.end());
  for (const SharedBytes& bytes : message.bulk) message.header.buffers.push_back(bytes->size());
  return message;
}

}  // namespace pounce::worker
