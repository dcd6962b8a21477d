// A network connection joined to its counterpart inside. Bytes pass unchanged both ways, only as fast as the receiver
// takes them, and a newcomer may send only its allowance. Never blocks. Thread: its listener's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/unique_fd.h"

namespace pounce::daemon {

class ProxiedConnection {
 public:
  // allowance: how many bytes the peer may send until settle().
  ProxiedConnection(UniqueFd peer, UniqueFd inside, std::size_t allowance)
      : peer_(std::move(peer)), inside_(std::move(inside)), inwards_{{}, allowance} {}

  // Moves the bytes that can move now, so that both descriptors signal the next change. False: one side has ended;
  // its last bytes have been handed on if the other side took them.
  bool pump();
  void settle() { inwards_.allowance = kUnlimited; }  // then pump again

  // The sides that have not taken all bytes held for them. Only these are watched for room, because a watch on any
  // other side would fire for each byte that it takes.
  struct Full {
    bool peer = false, inside = false;
    bool operator==(const Full&) const = default;
  };
  Full full() const { return {!outwards_.pending.empty(), !inwards_.pending.empty()}; }

  int peer() const { return peer_.get(); }
  int inside() const { return inside_.get(); }

 private:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  enum class Step : std::uint8_t { kOn, kLater, kOver };

  struct Flow {
    std::string pending{};  // read, but not yet taken by the other side
    std::size_t allowance = kUnlimited;
    bool move(int from, int to);
    Step hand_on(int to);
    Step take(int from);
  };

  UniqueFd peer_, inside_;
  Flow inwards_, outwards_;
};

}  // namespace pounce::daemon
