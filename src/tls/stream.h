// TLS 1.3 over one TCP socket, with a pre-shared key and nothing else: no certificates, no tickets, no resumption, no
// early data, one cipher (AES-128-GCM). The only face of OpenSSL. Nothing here blocks or signals; the owner polls
// fd(). Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/curve_key.h"
#include "base/unique_fd.h"
#include "model/ids.h"

namespace pounce::tls {

// What two ends of a bulk connection have in common: a random key, and a name for it that may be seen. Made for one
// session and one attach by the worker, told to the client over CURVE.
using PeerId = HexId<struct PeerTag, 16>;  // random; the TLS identity of the pre-shared key

struct Credential {
  PeerId id;
  SecretKey key;  // 32 random bytes, wiped when it dies
};

Credential make_credential();  // from the kernel's generator

// Encrypted records are gathered, and go to the socket many at a time: OpenSSL would make a system call for each 16
// KiB.
class Stream {
 public:
  enum class State { kHandshake, kOpen, kRefused, kLost };
  using KeyOf = std::function<const SecretKey*(const PeerId&)>;  // null: no peer of that name may connect

  static bool available();  // this build has OpenSSL
  static std::unique_ptr<Stream> client(UniqueFd socket, const Credential& own);
  static std::unique_ptr<Stream> server(UniqueFd socket, KeyOf key_of);  // key_of is called within shake_hands()
  ~Stream();

  State state() const;
  const std::string& why() const;  // of kRefused and kLost, for a log
  int fd() const;                  // -1: closed
  const PeerId& peer() const;      // the peer's key name; a server knows it once the stream is open

  void shake_hands();                                  // continues the handshake as far as possible
  std::size_t read(std::span<std::byte> into);         // at most one record; 0: nothing now, or not open
  std::size_t write(std::span<const std::byte> from);  // encrypts as much as there is room for
  void send_out();                                     // sends encrypted bytes as far as the socket takes them
  bool unsent() const;                                 // encrypted bytes wait
  void change_key();                                   // for everything sent from here on
  void close(std::string why);                         // kLost

  std::uint64_t came() const;  // bytes of TCP so far
  std::uint64_t went() const;

  struct Impl;  // OpenSSL's part

 private:
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Which OpenSSL is loaded. Thread: any.
std::string library_version();  // "3.0.19"; empty if built without it: then bulk data goes over ZeroMQ

}  // namespace pounce::tls
