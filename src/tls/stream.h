// TLS 1.3 over one TCP socket, with a pre-shared key and nothing else: no certificates, no tickets, no resumption, no early
// data, one cipher (AES-128-GCM). The only face of OpenSSL. Nothing here blocks or signals; the owner polls fd().
//
// Encrypted records are gathered, and go to the socket many at a time: OpenSSL would make a system call for each 16 KiB.
// Thread: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/unique_fd.h"
#include "tls/credential.h"

namespace pounce::tls {

class Stream {
 public:
  enum class State { kHandshake, kOpen, kRefused, kLost };
  using KeyOf = std::function<const SecretKey*(const PeerId&)>;  // null: nobody of that name may come

  static bool available();  // this build has OpenSSL
  static std::unique_ptr<Stream> client(UniqueFd socket, const Credential& own);
  static std::unique_ptr<Stream> server(UniqueFd socket, KeyOf key_of);  // key_of is called within shake_hands()
  ~Stream();

  State state() const;
  const std::string& why() const;  // of kRefused and kLost, for a log
  int fd() const;                  // -1: closed
  const PeerId& peer() const;      // whose key it is; of a server's known once it is open

  void shake_hands();                              // goes on, as far as it gets
  std::size_t read(std::span<std::byte> into);     // at most one record; 0: there is nothing now, or it is not open
  std::size_t write(std::span<const std::byte> from);  // encrypts as much as there is room for
  void send_out();                                 // what is encrypted, as far as the socket takes it
  bool unsent() const;                             // something encrypted waits
  void change_key();                               // of what is sent from here on
  void close(std::string why);                     // kLost

  std::uint64_t came() const;  // bytes of TCP so far
  std::uint64_t went() const;

  struct Impl;  // OpenSSL's part

 private:
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::tls
