// The buffers between OpenSSL and one socket. Both directions are gathered, so that a system call moves many records:
// OpenSSL itself would make one or two calls for each 16 KiB. Bytes are counted, so that an untrusted peer's are
// bounded. Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/unique_fd.h"

namespace pounce::tls {

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
  static constexpr std::size_t kUntrusted = 4096;      // a handshake with a pre-shared key takes some 500
  static constexpr std::size_t kAhead = 256 * 1024;    // stays in a core's cache

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
