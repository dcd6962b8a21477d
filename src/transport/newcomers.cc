#include "transport/newcomers.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pounce::transport {
namespace {

std::uint16_t local_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace

Newcomers::Newcomers(std::size_t most)
    : most_(most), nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)), held_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

void Newcomers::cut_oldest(std::uint16_t own_port) {
  while (waiting_.size() > most_) {
    cut(waiting_.front(), own_port);
    waiting_.pop_front();
  }
}

// libzmq may have closed the descriptor already, and the task may have reused its number. So duplicate it first,
// check the duplicate, and cut that. libzmq closes its own when it sees the end.
void Newcomers::cut(int descriptor, std::uint16_t own_port) {
  if (::dup3(descriptor, held_.get(), O_CLOEXEC) < 0) return;
  if (local_port(held_.get()) == own_port) ::shutdown(held_.get(), SHUT_RDWR);
  ::dup3(nothing_.get(), held_.get(), O_CLOEXEC);
}

}  // namespace pounce::transport
