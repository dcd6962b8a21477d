// One connection from elsewhere and the one that stands for it inside: bytes go both ways as they are, no more than the
// other side takes, and of a newcomer no more than its allowance. Never blocks. Thread: its listener's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/unique_fd.h"

namespace pounce::daemon {

class ProxiedConnection {
 public:
  // allowance: so many bytes may come in until it is settled.
  ProxiedConnection(UniqueFd peer, UniqueFd inside, std::size_t allowance)
      : peer_(std::move(peer)), inside_(std::move(inside)), inwards_{{}, allowance} {}

  // Moves what can be moved now, so that both descriptors tell of the next change. False: one side has ended; what it
  // said before has been handed on, if the other took it.
  bool pump();
  void settle() { inwards_.allowance = kUnlimited; }  // then pump again

  // Who has not taken what is held here for it: its room is waited for, and nobody else's, since each byte that is taken makes some.
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
    std::string pending{};  // read, and not taken by the other side
    std::size_t allowance = kUnlimited;
    bool move(int from, int to);
    Step hand_on(int to);
    Step take(int from);
  };

  UniqueFd peer_, inside_;
  Flow inwards_, outwards_;
};

}  // namespace pounce::daemon
