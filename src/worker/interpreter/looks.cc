#include "worker/interpreter/looks.h"

#include <utility>

namespace pounce::worker {

void Looks::on(const protocol::Look& look, const DataMessage& message) {
  if (message.frames.size() != 2) return message.seat.refuse(ErrorCode::kProtocol, "look needs its question");
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == kMostWaiting) waiting_.pop_front();
  waiting_.push_back({message.session, look.question, std::string(message.frames[1].text())});
  changed_.notify_one();
}

// A client that has gone needs no answer.
void Looks::answer(const SessionId& session, std::uint32_t number, Bytes text) {
  ClientSeat* const seat = clients_.seat(session);
  if (seat == nullptr || !seat->attached) return;
  seat->outbox.post(protocol::Look{number}, {std::move(text)});
  clients_.flush();
}

std::optional<LookQuestion> Looks::next(TimePoint until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this] { return closed_ || !waiting_.empty(); });
  if (closed_ || waiting_.empty()) return std::nullopt;
  LookQuestion question = std::move(waiting_.front());
  waiting_.pop_front();
  return question;
}

void Looks::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool Looks::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace pounce::worker
