// The TCP port for bulk connections. It reveals nothing to a peer without one of the announced keys. Unauthenticated
// peers are bounded in number, bytes and time; over the bound the oldest is cut. Thread: the one that owns the loop
// or leader token.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "pounce/error.h"
#include "tls/channel.h"
#include "tls/stream.h"

namespace pounce::tls {

class Listener {
 public:
  // "tcp://10.77.0.1:*" or "tcp://10.77.0.1:50000-50999": one port of these. kInternal: it cannot listen, or there is
  // no OpenSSL.
  static Result<std::unique_ptr<Listener>> bind(const std::string& endpoint, const Options& options,
                                                std::size_t most_newcomers = 16);

  const std::string& endpoint() const { return endpoint_; }  // as bound, the port filled in
  void announce(Credential credential);                      // a peer with this key may connect, once
  void forget(const PeerId& id) { known_.erase(id); }        // the key is no longer valid; an open connection stays
  std::unique_ptr<Channel> accept();                         // the next peer that proved its key; call until null

  // Readable when accept() has to be called; next_deadline() may require it too.
  int fd() const { return epoll_.get(); }
  TimePoint next_deadline() const;
  std::size_t newcomers() const { return newcomers_.size(); }

 private:
  struct Newcomer {
    std::unique_ptr<Stream> stream;
    TimePoint until;
  };

  Listener(UniqueFd listening, UniqueFd epoll, std::string endpoint, const Options& options,
           std::size_t most_newcomers);
  bool watch(int fd);
  bool let_in_one();
  std::unique_ptr<Stream> next_open();

  const UniqueFd listening_, epoll_;
  const std::string endpoint_;
  const Options options_;
  const std::size_t most_newcomers_;
  std::map<PeerId, SecretKey> known_;
  std::deque<Newcomer> newcomers_;   // in the order of arrival
  TimePoint no_descriptor_until_{};  // no descriptor left: do not poll the port until then
};

}  // namespace pounce::tls
