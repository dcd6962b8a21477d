#include "worker/interpreter/clients.h"

#include <algorithm>
#include <utility>

#include "protocol/codec.h"
#include "transport/frame.h"

namespace pounce::worker {
namespace {

using transport::Frame;
using transport::Message;
using transport::Sent;

constexpr std::size_t kOutcomesTogether = 16;
constexpr std::chrono::microseconds kGatherFor{500};  // for short tasks that follow each other

std::size_t size_of(const Message& message) {
  std::size_t size = 0;
  for (const Frame& frame : message) size += frame.size();
  return size;
}

}  // namespace

void Outbox::post(const protocol::Header& header, const std::vector<Bytes>& payload) {
  Message message = data::to_message(header, payload);
  waiting_bytes_ += size_of(message);
  small_.push_back(std::move(message));
}

void Outbox::post_outcome(OutcomeMessage outcome, data::Way way) {
  if (outcome.bulk.empty()) return post(outcome.header, outcome.payload);
  drop_bulk(outcome.header.task);
  if (way != data::Way::kAsMemory) post(outcome.header, outcome.payload);
  OutcomeTransfer transfer(std::move(outcome), way);
  if (!transfer.done()) bulk_.push_back(std::move(transfer));
}

void Outbox::drop_bulk(const TaskId& task) {
  std::erase_if(bulk_, [&](const OutcomeTransfer& transfer) { return transfer.task() == task; });
}

void Outbox::clear() {
  waiting_bytes_ = 0;
  small_.clear();
  bulk_.clear();
}

Outbox::Flushed Outbox::flush(DataSockets& sockets, const std::string& route, memory::BlockPool& blocks) {
  while (!small_.empty()) {
    const Sent sent = send_small(sockets, route);
    if (sent == Sent::kFull) return Flushed::kBlocked;
    if (sent == Sent::kNoSuchPeer) break;
  }
  while (small_.empty() && !bulk_.empty()) {
    OutcomeTransfer& transfer = bulk_.front();
    if (!transfer.prepare(blocks)) return Flushed::kMore;
    const Sent sent = transfer.send(sockets, route);
    if (sent == Sent::kFull) return Flushed::kBlocked;
    if (sent == Sent::kNoSuchPeer) break;
    if (transfer.done()) bulk_.pop_front();
  }
  clear();
  return Flushed::kAll;
}

// Sends the next message, or as many as fit into one.
Sent Outbox::send_small(DataSockets& sockets, const std::string& route) {
  const std::size_t count = packs_ ? transport::packable(small_) : 1;
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += size_of(small_[i]);  // before sending, which empties the frames
  Message several;
  if (count > 1) {
    several.push_back(Frame::copy(protocol::encode(protocol::Several{static_cast<std::uint32_t>(count)})));
    several.push_back(transport::pack(small_, count));
  }
  const Sent sent = sockets.send(route, count > 1 ? several : small_.front());
  if (sent != Sent::kYes) return sent;
  waiting_bytes_ -= size;
  small_.erase(small_.begin(), small_.begin() + static_cast<std::ptrdiff_t>(count));
  return sent;
}

void Clients::admit(const SessionId& session, const PublicKey& key) {
  ClientSeat& seat = seats_[session];
  if (seat.key == key) return;  // the daemon restarted and repeats it: the connection goes on
  keys_.erase(seat.key);
  seat = ClientSeat{};
  seat.key = key;
  keys_[key] = session;
}

void Clients::dismiss(const SessionId& session) {
  const auto found = seats_.find(session);
  if (found == seats_.end()) return;
  keys_.erase(found->second.key);
  seats_.erase(found);
}

std::optional<SessionId> Clients::session_of(const PublicKey& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SessionId> Clients::session_on(const std::string& route) const {
  for (const auto& [session, seat] : seats_)
    if (seat.route == route) return session;
  return std::nullopt;
}

ClientSeat* Clients::seat(const SessionId& session) {
  const auto found = seats_.find(session);
  return found == seats_.end() ? nullptr : &found->second;
}

std::optional<TimePoint> Clients::last_seen() const {
  std::optional<TimePoint> last;
  for (const auto& [session, seat] : seats_) last = std::max(last, seat.last_seen);
  return last;
}

bool Clients::anyone_connected() const {
  return std::any_of(seats_.begin(), seats_.end(), [](const auto& entry) { return entry.second.attached; });
}

void Clients::flush() {
  blocked_ = false;
  flushed_at_ = Clock::now();
  for (auto& [session, seat] : seats_) {
    if (seat.outbox.empty()) continue;
    const Outbox::Flushed flushed = seat.outbox.flush(sockets_, seat.route, blocks_);
    blocked_ |= flushed == Outbox::Flushed::kBlocked && !sockets_.polled_for_room(seat.route);
    more_ |= flushed == Outbox::Flushed::kMore;
  }
  sockets_.flush();
}

void Clients::gather(const ClientSeat* seat) {
  const bool waits =
      seat != nullptr && seat->outbox.waiting() < kOutcomesTogether && Clock::now() < flushed_at_ + kGatherFor;
  if (waits)
    more_ = true;
  else
    flush();
}

}  // namespace pounce::worker
