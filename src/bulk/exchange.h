// What the connections of one lane have in common: what is offered to the other end, what is fetched from it, and what
// came of it. Knows no connection. Thread: any for Exchange; Offers and Fetches are locked by their owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::bulk {

// What is fetched: transfers, cut into pieces that several connections share out among themselves. A piece is asked
// for once; what has come of a transfer without a gap is what a later connection need not ask for again.

// The destination of one buffer: memory; or memory that is found piece by piece; or a function that is called with its
// pieces. Both functions are called in any order, by several threads at once.
struct Target {
  std::uint64_t size = 0;
  std::span<std::byte> place{};  // of this size; or empty, and the next two are used
  std::function<Result<void>(std::uint64_t offset, std::span<const std::byte> bytes)> write{};
  // Where a piece goes, of this size; empty: it is given to `write`.
  std::function<WritableBytes(std::uint64_t offset, std::uint64_t size)> place_at{};
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

  std::optional<Piece> next();                                   // the next piece to request, in order
  bool wants(const Piece& piece) const;                          // its transfer is still under way
  bool came(const Piece& piece);                                 // true: this completed the transfer, which is now gone
  std::optional<Position> reached(const std::string& of) const;  // nullopt: not under way
  std::uint64_t bytes_left() const;                              // not requested yet

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

// What the other end may fetch: by name, buffers that stay unchanged until they are withdrawn and no frame holds them.
class Offers {
 public:
  void add(const std::string& of, std::vector<Bytes> buffers) { offers_[of] = std::move(buffers); }
  void withdraw(const std::string& of) { offers_.erase(of); }
  bool contains(const std::string& of) const { return offers_.contains(of); }

  // nullopt: there is no such piece.
  std::optional<Bytes> piece(const std::string& of, Position at, std::uint64_t size) const {
    const auto offer = offers_.find(of);
    if (offer == offers_.end() || at.buffer >= offer->second.size()) return std::nullopt;
    const Bytes& whole = offer->second[at.buffer];
    if (at.offset > whole.bytes.size() || size > whole.bytes.size() - at.offset) return std::nullopt;
    return Bytes{whole.bytes.subspan(at.offset, size), whole.keep};
  }

 private:
  std::map<std::string, std::vector<Bytes>> offers_;
};

struct Whole {  // the transfer is complete
  std::string of;
};
struct Failed {  // the data cannot be kept here; no further piece is requested
  std::string of;
  Error error;
};
struct Lost {  // a connection was lost, and with it the lane
  std::string why;
  bool stood = false;  // the lane was once established
};
using Event = std::variant<Whole, Failed, Lost>;

class Exchange {
 public:
  Exchange();

  void offer(const std::string& of, std::vector<Bytes> buffers);
  void withdraw(const std::string& of);
  std::optional<Bytes> offered(const Piece& piece) const;

  void fetch(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of);  // no event follows for this transfer
  std::optional<Position> reached(const std::string& of) const;
  std::uint64_t bytes_left() const;

  std::optional<Piece> next_piece();
  bool wanted(const Piece& piece) const;
  void came(const Piece& piece);
  void failed(const Piece& piece, Error error);
  void stands();
  // `stood`: that connection was established. One that never was is no loss to a lane that has others.
  void lost(std::string why, bool stood);

  int fd() const { return news_.get(); }  // readable when there are events; -1: no descriptor was left
  std::vector<Event> events();

 private:
  // Call these with the lock held.
  void tell(Event event);
  bool told_whole(const std::string& of) const;

  mutable std::mutex mutex_;
  Offers offers_;
  Fetches fetches_;
  std::vector<Event> events_;
  bool stands_ = false;
  std::atomic<bool> told_ = false;  // there are events: checked in each turn without a system call
  const UniqueFd news_;
};

}  // namespace pounce::bulk
