#include "worker/interpreter/outcomes.h"

#include <unistd.h>

#include <span>
#include <utility>

#include "data/buffers.h"
#include "protocol/message_limits.h"
#include "worker/interpreter/outcome_transfer.h"

namespace pounce::worker {

const JobResult* Outcomes::find(const TaskId& task) const {
  const auto kept = kept_.find(task);
  return kept == kept_.end() ? nullptr : &kept->second.result;
}

void Outcomes::send(const SessionId& session, const TaskId& task) {
  ClientSeat* seat = clients_.seat(session);
  if (seat == nullptr || !seat->attached) return;
  OutcomeMessage message = outcome_message(task, kept_.at(task));
  message.header.sent_ns = to_ns(Clock::now());
  bulk::Lane* const lane = lanes_.lane(session);
  const data::Way way = data::choose_way({.bytes = data::total(message.bulk),
                                          .passes_memory = clients_.passes_memory(*seat),
                                          .has_lane = lane != nullptr});
  if (auto reached = seat->reached.extract(task); reached && way != data::Way::kAsMemory)
    message.header.from = std::move(reached.mapped());
  if (way != data::Way::kOverLane) return seat->outbox.post_outcome(std::move(message), way);
  lane->offer(task.hex(), std::move(message.bulk));
  message.header.fetched = true;
  seat->outbox.post(message.header, message.payload);
}

void Outcomes::forget(const TaskId& task) {
  kept_.erase(task);
  files_.erase(task);
  for (auto& [session, seat] : clients_.seats()) {
    seat.outbox.drop_bulk(task);
    if (bulk::Lane* const lane = lanes_.lane(session)) lane->withdraw(task.hex());
  }
}

void Outcomes::remove_files(const std::vector<TaskId>& acknowledged) const {
  for (const TaskId& task : acknowledged)
    if (const auto file = files_.find(task); file != files_.end() && kept_.contains(task))
      ::unlink(file->second.c_str());
}

// Uses the parts in which the client announces the result to other workers: a large pickle is a part of its own, as
// in an outcome.
void KeptResults::keep(const SessionId& session, const ObjectId& object, JobResult result) {
  Waiting one{session, object, std::move(result)};
  one.pickle_follows = one.result.pickle.size() > protocol::kInlineBytes;
  if (one.pickle_follows) one.parts.push_back(one.result.pickle);
  one.parts.insert(one.parts.end(), one.result.buffers.begin(), one.result.buffers.end());
  waiting_.push_back(std::move(one));
}

void KeptResults::drop_all(const SessionId& session) {
  std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session; });
}

std::optional<KeptResults::Event> KeptResults::step(memory::BlockPool& blocks) {
  if (waiting_.empty()) return std::nullopt;
  Waiting& one = waiting_.front();
  if (!one.packing) {
    std::vector<std::span<const std::byte>> pieces;
    for (const Bytes& part : one.parts) pieces.push_back(part.bytes);
    if (auto begun = memory::Packing::begin(blocks, std::move(pieces))) one.packing = std::move(*begun);
  }
  const bool fits = one.packing && one.packing->step();
  if (fits && !one.packing->whole()) return std::nullopt;
  Event event{one.session, one.object, fits ? std::optional(offer_of(one)) : std::nullopt};
  waiting_.pop_front();
  return event;
}

ObjectOffer KeptResults::offer_of(const Waiting& one) {
  ObjectOffer offer{one.object, {}, {}, one.pickle_follows, one.packing->block(), one.packing->places()};
  if (!one.pickle_follows) offer.pickle = one.result.pickle.text();
  for (const Bytes& part : one.parts) offer.sizes.push_back(part.size());
  return offer;
}

}  // namespace pounce::worker
