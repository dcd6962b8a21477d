// What the connections of one lane have in common: what is offered, what is fetched, and what came of it. Thread: any.
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

struct Whole {  // it has come
  std::string of;
};
struct Failed {  // it cannot be kept here; nothing more of it is asked for
  std::string of;
  Error error;
};
struct Lost {  // a connection, and with it the lane
  std::string why;
  bool stood = false;  // the lane was there once
};
using Event = std::variant<Whole, Failed, Lost>;

class Exchange {
 public:
  Exchange();

  void offer(const std::string& of, std::vector<Offered> buffers);
  void withdraw(const std::string& of);
  std::optional<Offered> offered(const Piece& piece) const;

  void fetch(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of);  // nothing is told of it any more
  std::optional<Position> reached(const std::string& of) const;
  std::uint64_t bytes_left() const;

  std::optional<Piece> next_piece();
  bool wanted(const Piece& piece) const;
  void came(const Piece& piece);
  void failed(const Piece& piece, Error error);
  void stands();
  // `stood`: that connection did. One that never came is no loss to a lane that has others.
  void lost(std::string why, bool stood);

  int fd() const { return news_.get(); }  // readable when there are events; -1: there was no descriptor
  std::vector<Event> events();

 private:
  // locked
  void tell(Event event);
  bool told_whole(const std::string& of) const;

  mutable std::mutex mutex_;
  Offers offers_;
  Fetches fetches_;
  std::vector<Event> events_;
  bool stands_ = false;
  std::atomic<bool> told_ = false;  // there are some: looked at in each turn, without a system call
  const UniqueFd news_;
};

}  // namespace pounce::bulk
