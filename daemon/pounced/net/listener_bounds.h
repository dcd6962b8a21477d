// How many connections from elsewhere pounced holds, so that whoever reaches its ports takes neither its memory nor its last
// descriptor. Pure. Thread: any.
#pragma once

#include <chrono>
#include <cstddef>

namespace pounce::daemon {

struct ListenerBounds {
  std::size_t connections = 0;              // at a time; others wait in the kernel's line
  std::size_t newcomers = 0;                // of these: so young that they may be strangers
  std::chrono::milliseconds newcomer{};     // so long is one a newcomer: libzmq has cut a stranger by then
  bool stays = false;                       // afterwards; else it is cut
};

// What a newcomer may send in all. A hello with its handshake has a third of it; libzmq keeps all of an unfinished message.
inline constexpr std::size_t kNewcomerBytes = 32 * 1024;

// descriptors: this process's limit.
ListenerBounds handshake_bounds(std::size_t descriptors);
ListenerBounds control_bounds(std::size_t descriptors);

}  // namespace pounce::daemon
