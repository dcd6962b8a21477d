// Where bulk connections come in: a TCP port that tells nothing to whoever has none of the announced keys. Strangers are
// bounded in number, bytes and time; over the bound the oldest is cut. Thread: the one that owns the loop or leader token.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "pounce/result.h"
#include "tls/channel.h"
#include "tls/credential.h"
#include "tls/options.h"
#include "tls/stream.h"

namespace pounce::tls {

class Listener {
 public:
  // "tcp://10.77.0.1:*" or "tcp://10.77.0.1:50000-50999": one port of these. kInternal: it cannot, or OpenSSL is not there.
  static Result<std::unique_ptr<Listener>> bind(const std::string& endpoint, const Options& options, std::size_t most_newcomers = 16);

  const std::string& endpoint() const { return endpoint_; }  // as bound, the port filled in
  void announce(Credential credential);  // whoever has it may come, once
  void forget(const PeerId& id) { known_.erase(id); }  // nobody may any more; who has come stays
  std::unique_ptr<Channel> accept();     // the next one that proved its key; ask until there is none

  int fd() const { return epoll_.get(); }  // readable when accept() has to be called, which next_deadline() may ask for too
  TimePoint next_deadline() const;
  std::size_t newcomers() const { return newcomers_.size(); }

 private:
  struct Newcomer {
    std::unique_ptr<Stream> stream;
    TimePoint until;
  };

  Listener(UniqueFd listening, UniqueFd epoll, std::string endpoint, const Options& options, std::size_t most_newcomers);
  bool watch(int fd);
  bool let_in_one();
  std::unique_ptr<Stream> next_open();

  const UniqueFd listening_, epoll_;
  const std::string endpoint_;
  const Options options_;
  const std::size_t most_newcomers_;
  std::map<PeerId, SecretKey> known_;
  std::deque<Newcomer> newcomers_;  // in the order in which they came
  TimePoint no_descriptor_until_{};  // the process's limit is reached: the port is not polled meanwhile
};

}  // namespace pounce::tls
