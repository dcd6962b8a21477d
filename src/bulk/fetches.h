// What is fetched from the other end: transfers, cut into pieces that several connections share out among themselves. A piece
// is asked for once; what has come of a transfer without a gap is what a later connection need not ask for again.
// Knows no connection. Thread: its owner locks.
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

// Where one buffer goes: memory that it is received into, or a function that is given its pieces, in any order, by several
// threads at once.
struct Target {
  std::uint64_t size = 0;
  std::span<std::byte> place{};  // of this size; or empty, and then:
  std::function<Result<void>(std::uint64_t offset, std::span<const std::byte> bytes)> write{};
  std::shared_ptr<const void> keep{};  // holds the memory
};

using Targets = std::shared_ptr<const std::vector<Target>>;

struct Piece {
  std::string of;
  Position at;
  std::uint64_t size = 0;
  Targets targets;  // alive as long as somebody fills it

  const Target& target() const { return (*targets)[at.buffer]; }
};

class Fetches {
 public:
  static constexpr std::uint64_t kPieceBytes = 4 * 1024 * 1024;

  // One that is under way already is not begun again.
  void begin(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of);

  std::optional<Piece> next();     // that nobody has asked for; in order
  bool wants(const Piece& piece) const;  // its transfer was not stopped
  bool came(const Piece& piece);   // true: with it the transfer is whole, and over
  std::optional<Position> reached(const std::string& of) const;  // nullopt: not under way
  std::uint64_t bytes_left() const;  // that were not asked for

 private:
  struct Transfer {
    std::string of;
    Targets targets;
    Position next;                // the first byte that nobody has asked for
    std::set<Position> asked;     // pieces on their way
    void skip_full();
    bool all_asked() const { return next.buffer == targets->size(); }
  };

  std::deque<Transfer> transfers_;
};

}  // namespace pounce::bulk
