// The state that the connections of one lane share: offers, fetches and their outcome. Thread: any.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "bulk/fetches.h"
#include "bulk/offers.h"
#include "pounce/error.h"

namespace pounce::bulk {

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

  void offer(const std::string& of, std::vector<Offered> buffers);
  void withdraw(const std::string& of);
  std::optional<Offered> offered(const Piece& piece) const;

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
