// One ZeroMQ context per process, with its ZAP handler, and which libzmq is loaded. CURVE on every socket; there is no
// plaintext switch. Thread: made and destroyed on one thread; sockets belong to the thread (or leader token) that uses
// them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/curve_key.h"

namespace pounce::transport {

std::string library_version();  // "4.3.4"

std::string to_z85(const PublicKey& key);
std::optional<PublicKey> from_z85(std::string_view text);

struct ZapQuestion {
  std::string domain;
  std::string address;          // "10.77.0.1", or "localhost:1001:1001:4711" on ipc (uid:gid:pid)
  std::optional<unsigned> uid;  // parsed from an ipc address: the kernel's word
  PublicKey key;
};
using ZapAnswer = std::function<bool(const ZapQuestion&)>;

class Context {
 public:
  explicit Context(int io_threads = 1);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Decides which keys may finish a handshake in this domain. Without an entry none may. `answer` runs in
  // service_zap().
  void admit(const std::string& domain, ZapAnswer answer);
  // The ZAP handler's socket: poll its fd with the others and call this when readable (and once per turn).
  void service_zap();
  void* zap_handle();  // for EventLoop and engines' polling

  // In a forked child: forget everything without touching the sockets (the parent owns them).
  void abandon_after_fork();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::transport
