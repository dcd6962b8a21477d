#include "bulk/fetches.h"

#include <algorithm>
#include <utility>

namespace pounce::bulk {

void Fetches::Transfer::skip_full() {
  while (!all_requested() && next.offset == (*targets)[next.buffer].size) next = {next.buffer + 1, 0};
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
  const auto transfer = std::ranges::find_if(transfers_, [&](const Transfer& one) { return one.targets == piece.targets; });
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

}  // namespace pounce::bulk
