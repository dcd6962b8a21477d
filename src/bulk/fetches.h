// The transfers fetched from the other end, cut into pieces that several connections share. Each piece is requested
// once. A later connection resumes a transfer behind what has come without a gap. Knows no connection. Thread: its
// owner locks.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bulk/position.h"
#include "pounce/result.h"

namespace pounce::bulk {

// The destination of one buffer: memory, or a function that is called with its pieces, in any order, by several
// threads at once.
struct Target {
  std::uint64_t size = 0;
  std::span<std::byte> place{};  // of this size; or empty, and `write` is used
  std::function<Result<void>(std::uint64_t offset, std::span<const std::byte> bytes)> write{};
  std::shared_ptr<const void> keep{};  // holds the memory
};

using Targets = std::shared_ptr<const std::vector<Target>>;

struct Piece {
  std::string of;
  Position at;
  std::uint64_t size = 0;
  Targets targets;  // alive while a connection fills it

  const Target& target() const { return (*targets)[at.buffer]; }
};

class Fetches {
 public:
  static constexpr std::uint64_t kPieceBytes = 4 * 1024 * 1024;

  // Does nothing if this transfer is under way already.
  void begin(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of);

  std::optional<Piece> next();     // the next piece to request, in order
  bool wants(const Piece& piece) const;  // its transfer is still under way
  bool came(const Piece& piece);   // true: this completed the transfer, which is now gone
  std::optional<Position> reached(const std::string& of) const;  // nullopt: not under way
  std::uint64_t bytes_left() const;  // not requested yet

 private:
  struct Transfer {
    std::string of;
    Targets targets;
    Position next;                 // the first byte not requested yet
    std::set<Position> in_flight;  // requested pieces that have not come
    void skip_full();
    bool all_requested() const { return next.buffer == targets->size(); }
  };

  std::deque<Transfer> transfers_;
};

}  // namespace pounce::bulk
