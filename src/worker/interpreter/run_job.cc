#include "worker/interpreter/run_job.h"

#include <string>
#include <utility>
#include <vector>

#include "protocol/message_limits.h"

namespace pounce::worker {

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

std::optional<KeptResults::News> KeptResults::step(memory::BlockPool& blocks) {
  if (waiting_.empty()) return std::nullopt;
  Waiting& one = waiting_.front();
  if (!one.packing) {
    std::vector<std::span<const std::byte>> pieces;
    for (const SharedBytes& part : one.parts) pieces.push_back(part->view());
    if (auto begun = memory::Packing::begin(blocks, std::move(pieces))) one.packing = std::move(*begun);
  }
  const bool fits = one.packing && one.packing->step();
  if (fits && !one.packing->whole()) return std::nullopt;
  News news{one.session, one.object, fits ? std::optional(offer_of(one)) : std::nullopt};
  waiting_.pop_front();
  return news;
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
