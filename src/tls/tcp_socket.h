// One TCP socket beneath OpenSSL: where it listens or connects to, and the bytes that go over it. Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/network.h"
#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::tls {

// "tcp://10.77.0.1:50007" and what else an endpoint may say of its port. Numeric only: no name service is asked.
// Thread: any.

// "tcp://10.77.0.1:*" is any free port, "tcp://[fd00::1]:50000-50999" the first free one of these; the pid decides
// where the search starts.
Result<ListeningSocket> listen_at(const std::string& endpoint);

// Begins to connect; the descriptor becomes writable on success or failure (SO_ERROR).
Result<UniqueFd> begin_to_connect(const std::string& endpoint);

// What goes between OpenSSL and one socket. Both ways it is gathered, so that a system call moves many records:
// OpenSSL itself would make one or two for each 16 KiB. Counted, so that an untrusted peer's bytes are bounded.
class SocketBytes {
 public:
  enum class Result { kDone, kLater, kEnd };

  explicit SocketBytes(UniqueFd socket) : socket_(std::move(socket)) {}
  ~SocketBytes() { close(); }

  Result receive(std::span<char> into, std::size_t& count);  // available bytes, up to the size of `into`
  void gather(std::span<const char> bytes);
  Result send();  // kDone: everything gathered was sent

  bool unsent() const { return begin_ < end_; }
  std::size_t gathered() const { return end_ - begin_; }
  int fd() const { return socket_.get(); }
  void close();
  std::uint64_t came() const { return came_; }
  std::uint64_t went() const { return went_; }
  void trust() { trusted_ = true; }  // before this call at most kUntrusted bytes are read

 private:
  static constexpr std::size_t kUntrusted = 4096;    // a handshake with a pre-shared key takes some 500
  static constexpr std::size_t kAhead = 256 * 1024;  // stays in a core's cache

  Result read_ahead();

  UniqueFd socket_;
  std::unique_ptr<char[]> memory_;  // outgoing bytes
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::unique_ptr<char[]> ahead_memory_;  // incoming bytes
  std::size_t ahead_capacity_ = 0, ahead_begin_ = 0, ahead_end_ = 0;
  std::uint64_t came_ = 0, went_ = 0;
  bool trusted_ = false;
};

}  // namespace pounce::tls
