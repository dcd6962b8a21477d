// A worker's end of its lanes: one port, where whoever was given a key comes in. Thread: the one that owns the loop or leader
// token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pounce/result.h"
#include "tls/listener.h"

namespace pounce::bulk {

class Acceptor {
 public:
  // As tls::Listener::bind.
  static Result<std::unique_ptr<Acceptor>> bind(const std::string& endpoint);

  const std::string& endpoint() const { return listener_->endpoint(); }
  // Keys for one client, each good for one connection; its earlier ones are good for nothing any more.
  std::vector<tls::Credential> keys_for(const std::string& client);
  // That somebody else has made.
  void take_keys(const std::string& client, std::vector<tls::Credential> credentials);
  void forget(const std::string& client);
  void forget_all(const std::string& beginning);  // of their names
  std::optional<std::pair<std::string, std::unique_ptr<tls::Channel>>> accept();  // whose it is; ask until there is none

  int fd() const { return listener_->fd(); }
  TimePoint next_deadline() const { return listener_->next_deadline(); }

 private:
  explicit Acceptor(std::unique_ptr<tls::Listener> listener) : listener_(std::move(listener)) {}

  void forget_if(const std::function<bool(const std::string&)>& is_meant);

  const std::unique_ptr<tls::Listener> listener_;
  std::vector<std::pair<tls::PeerId, std::string>> given_;
};

}  // namespace pounce::bulk
