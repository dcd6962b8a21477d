#include "worker/interpreter/outcomes.h"

#include <unistd.h>

#include <numeric>
#include <span>
#include <utility>

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
  const bool as_memory = clients_.passes_memory(*seat);
  if (auto reached = seat->reached.extract(task); reached && !as_memory)
    message.header.from = std::move(reached.mapped());
  if (!as_memory && offer_on_lane(session, message))
    return seat->outbox.post(message.header, std::move(message.payload));
  seat->outbox.post_outcome(std::move(message), as_memory);
}

// False: the outcome is too small, or there is no lane.
bool Outcomes::offer_on_lane(const SessionId& session, OutcomeMessage& message) {
  bulk::Lane* const lane = lanes_.lane(session);
  const auto bytes = std::accumulate(message.header.buffers.begin(), message.header.buffers.end(), std::uint64_t{0});
  if (lane == nullptr || bytes < bulk::kWorthTheLane) return false;
  std::vector<bulk::Offered> parts;
  for (const SharedBytes& part : message.bulk) parts.push_back({part->view(), part});
  lane->offer(message.header.task.hex(), std::move(parts));
  message.header.fetched = true;
  return true;
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
  one.pickle_follows = one.result.pickle->size() > protocol::kInlineBytes;
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
    for (const SharedBytes& part : one.parts) pieces.push_back(part->view());
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
  const auto pickle = one.result.pickle->view();
  if (!one.pickle_follows) offer.pickle.assign(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  for (const SharedBytes& part : one.parts) offer.sizes.push_back(part->size());
  offer.made_here = true;
  return offer;
}

}  // namespace pounce::worker
