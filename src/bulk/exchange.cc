#include "bulk/exchange.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace pounce::bulk {

void Fetches::Transfer::skip_full() {
  next.skip_full(targets->size(), [this](std::size_t i) { return (*targets)[i].size; });
}

void Fetches::begin(const std::string& of, std::vector<Target> targets, Position from) {
  if (reached(of)) return;
  Transfer transfer{of, std::make_shared<const std::vector<Target>>(std::move(targets)), from, {}};
  transfer.skip_full();
  if (!transfer.all_requested()) transfers_.push_back(std::move(transfer));
}

void Fetches::stop(const std::string& of) {
  std::erase_if(transfers_, [&](const Transfer& transfer) { return transfer.of == of; });
}

std::optional<Piece> Fetches::next() {
  const auto transfer = std::ranges::find_if(transfers_, [](const Transfer& one) { return !one.all_requested(); });
  if (transfer == transfers_.end()) return std::nullopt;
  const Position at = transfer->next;
  const std::uint64_t size = std::min(kPieceBytes, (*transfer->targets)[at.buffer].size - at.offset);
  transfer->in_flight.insert(at);
  transfer->next.offset += size;
  transfer->skip_full();
  return Piece{transfer->of, at, size, transfer->targets};
}

bool Fetches::wants(const Piece& piece) const {
  return std::ranges::any_of(transfers_, [&](const Transfer& one) { return one.targets == piece.targets; });
}

bool Fetches::came(const Piece& piece) {
  const auto transfer =
      std::ranges::find_if(transfers_, [&](const Transfer& one) { return one.targets == piece.targets; });
  if (transfer == transfers_.end()) return false;  // the transfer was stopped
  transfer->in_flight.erase(piece.at);
  if (!transfer->in_flight.empty() || !transfer->all_requested()) return false;
  transfers_.erase(transfer);
  return true;
}

// Pieces are requested in order: everything before the first one in flight, or not yet requested, is there.
std::optional<Position> Fetches::reached(const std::string& of) const {
  const auto transfer = std::ranges::find_if(transfers_, [&](const Transfer& one) { return one.of == of; });
  if (transfer == transfers_.end()) return std::nullopt;
  return transfer->in_flight.empty() ? transfer->next : *transfer->in_flight.begin();
}

std::uint64_t Fetches::bytes_left() const {
  std::uint64_t bytes = 0;
  for (const Transfer& transfer : transfers_)
    for (std::size_t i = transfer.next.buffer; i < transfer.targets->size(); ++i)
      bytes += (*transfer.targets)[i].size - (i == transfer.next.buffer ? transfer.next.offset : 0);
  return bytes;
}

Exchange::Exchange() : news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Exchange::offer(const std::string& of, std::vector<Bytes> buffers) {
  const std::lock_guard lock(mutex_);
  offers_.add(of, std::move(buffers));
}

void Exchange::withdraw(const std::string& of) {
  const std::lock_guard lock(mutex_);
  offers_.withdraw(of);
}

std::optional<Bytes> Exchange::offered(const Piece& piece) const {
  const std::lock_guard lock(mutex_);
  return offers_.piece(piece.of, piece.at, piece.size);
}

void Exchange::fetch(const std::string& of, std::vector<Target> targets, Position from) {
  const std::lock_guard lock(mutex_);
  if (told_whole(of)) return;  // its event has not been read yet
  fetches_.begin(of, std::move(targets), from);
  if (!fetches_.reached(of)) tell(Whole{of});  // nothing was missing
}

void Exchange::stop(const std::string& of) {
  const std::lock_guard lock(mutex_);
  fetches_.stop(of);
  std::erase_if(events_, [&](const Event& event) {
    const auto* whole = std::get_if<Whole>(&event);
    const auto* failed = std::get_if<Failed>(&event);
    return (whole && whole->of == of) || (failed && failed->of == of);
  });
}

bool Exchange::told_whole(const std::string& of) const {
  return std::ranges::any_of(events_, [&](const Event& event) {
    const auto* whole = std::get_if<Whole>(&event);
    return whole && whole->of == of;
  });
}

std::optional<Position> Exchange::reached(const std::string& of) const {
  const std::lock_guard lock(mutex_);
  return fetches_.reached(of);
}

std::uint64_t Exchange::bytes_left() const {
  const std::lock_guard lock(mutex_);
  return fetches_.bytes_left();
}

std::optional<Piece> Exchange::next_piece() {
  const std::lock_guard lock(mutex_);
  return fetches_.next();
}

bool Exchange::wanted(const Piece& piece) const {
  const std::lock_guard lock(mutex_);
  return fetches_.wants(piece);
}

void Exchange::came(const Piece& piece) {
  const std::lock_guard lock(mutex_);
  if (fetches_.came(piece)) tell(Whole{piece.of});
}

void Exchange::failed(const Piece& piece, Error error) {
  const std::lock_guard lock(mutex_);
  if (!fetches_.wants(piece)) return;  // told already
  fetches_.stop(piece.of);
  tell(Failed{piece.of, std::move(error)});
}

void Exchange::stands() {
  const std::lock_guard lock(mutex_);
  stands_ = true;
}

void Exchange::lost(std::string why, bool stood) {
  const std::lock_guard lock(mutex_);
  if (stood || !stands_) tell(Lost{std::move(why), stands_});
}

void Exchange::tell(Event event) {
  events_.push_back(std::move(event));
  told_ = true;
  const std::uint64_t one = 1;
  static_cast<void>(::write(news_.get(), &one, sizeof one));
}

std::vector<Event> Exchange::events() {
  if (!told_) return {};
  const std::lock_guard lock(mutex_);
  std::uint64_t told = 0;
  static_cast<void>(::read(news_.get(), &told, sizeof told));
  told_ = false;
  return std::exchange(events_, {});
}

}  // namespace pounce::bulk
