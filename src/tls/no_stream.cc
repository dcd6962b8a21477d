// Replaces stream.cc where the build found no OpenSSL: no Stream can be made, so none of this is ever called.
#include "tls/stream.h"

namespace pounce::tls {

struct Stream::Impl {
  PeerId peer;
  std::string why;
};

bool Stream::available() { return false; }
std::unique_ptr<Stream> Stream::client(UniqueFd, const Credential&) { return nullptr; }
std::unique_ptr<Stream> Stream::server(UniqueFd, KeyOf) { return nullptr; }
Stream::~Stream() = default;

Stream::State Stream::state() const { return State::kLost; }
const std::string& Stream::why() const { return impl_->why; }
int Stream::fd() const { return -1; }
const PeerId& Stream::peer() const { return impl_->peer; }
void Stream::shake_hands() {}
std::size_t Stream::read(std::span<std::byte>) { return 0; }
std::size_t Stream::write(std::span<const std::byte>) { return 0; }
void Stream::send_out() {}
bool Stream::unsent() const { return false; }
void Stream::change_key() {}
void Stream::close(std::string) {}
std::uint64_t Stream::came() const { return 0; }
std::uint64_t Stream::went() const { return 0; }

std::string library_version() { return {}; }

}  // namespace pounce::tls
