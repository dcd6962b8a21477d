// Bounds on the network connections that pounced holds, so that untrusted peers can use up neither its memory nor its
// descriptors. Pure. Thread: any.
#pragma once

#include <chrono>
#include <cstddef>

namespace pounce::daemon {

struct ListenerBounds {
  std::size_t connections = 0;              // at a time; others wait in the kernel's queue
  std::size_t newcomers = 0;                // of these, the young ones: they may be untrusted peers
  std::chrono::milliseconds newcomer{};     // how long one is a newcomer: libzmq cuts an untrusted peer by then
  bool stays = false;                       // whether it stays afterwards; else it is cut
};

// The bytes that a newcomer may send. A hello with its handshake needs a third; libzmq keeps all of an unfinished
// message.
inline constexpr std::size_t kNewcomerBytes = 32 * 1024;

// descriptors: this process's limit.
ListenerBounds handshake_bounds(std::size_t descriptors);
ListenerBounds control_bounds(std::size_t descriptors);

}  // namespace pounce::daemon
