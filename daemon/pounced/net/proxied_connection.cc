#include "pounced/net/proxied_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace pounce::daemon {
namespace {

constexpr std::size_t kPiece = 16 * 1024;

template <class Call>
ssize_t through_signals(const Call& call) {
  ssize_t result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

// Pumps both directions even if one fails: the last bytes of the closed side may travel in the other.
bool ProxiedConnection::pump() {
  const bool in = inwards_.move(peer_.get(), inside_.get());
  const bool out = outwards_.move(inside_.get(), peer_.get());
  return in && out;
}

bool ProxiedConnection::Flow::move(int from, int to) {
  Step step = Step::kOn;
  while (step == Step::kOn) {
    step = hand_on(to);
    if (step == Step::kOn) step = allowance > 0 ? take(from) : Step::kLater;
  }
  return step != Step::kOver;
}

ProxiedConnection::Step ProxiedConnection::Flow::hand_on(int to) {
  while (!pending.empty()) {
    const ssize_t sent = through_signals([&] { return ::send(to, pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (sent < 0) return errno == EAGAIN ? Step::kLater : Step::kOver;
    pending.erase(0, static_cast<std::size_t>(sent));
  }
  return Step::kOn;
}

ProxiedConnection::Step ProxiedConnection::Flow::take(int from) {
  char piece[kPiece];
  const ssize_t size = through_signals([&] { return ::recv(from, piece, std::min(sizeof piece, allowance), MSG_DONTWAIT); });
  if (size == 0) return Step::kOver;
  if (size < 0) return errno == EAGAIN ? Step::kLater : Step::kOver;
  pending.assign(piece, static_cast<std::size_t>(size));
  if (allowance != kUnlimited) allowance -= static_cast<std::size_t>(size);
  return Step::kOn;
}

}  // namespace pounce::daemon
