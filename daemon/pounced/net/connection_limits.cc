#include "pounced/net/connection_limits.h"

#include <algorithm>

#include "pounced/net/peers.h"

namespace pounce::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOwnDescriptors = 192;  // files, pounce-slurm, this machine's own notebooks
constexpr std::size_t kEach = 3;              // descriptors per connection: the peer's, ours to libzmq, libzmq's own
constexpr std::size_t kMostNewcomers = 256;
constexpr auto kHello = 5s;     // from the connection to the welcome
constexpr auto kEntering = 3s;  // libzmq cuts a handshake after 2 s

// A quarter of the remaining descriptors stays with this machine's own notebooks.
std::size_t share(std::size_t descriptors, std::size_t parts, std::size_t least, std::size_t most) {
  const std::size_t connections = descriptors > kOwnDescriptors ? (descriptors - kOwnDescriptors) / kEach : 0;
  return std::clamp(connections / parts, least, most);
}

}  // namespace

ListenerBounds handshake_bounds(std::size_t descriptors) {
  const std::size_t newcomers = share(descriptors, 4, 4, kMostNewcomers);
  return {newcomers, newcomers, kHello, false};
}

ListenerBounds control_bounds(std::size_t descriptors) {
  return {share(descriptors, 2, 8, Peers::kMost + kMostNewcomers), share(descriptors, 8, 4, kMostNewcomers), kEntering,
          true};
}

}  // namespace pounce::daemon
