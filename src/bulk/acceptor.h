// A worker's end of its lanes: one port, open to peers that were given a key. Thread: the one that owns the loop or
// leader token.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pounce/error.h"
#include "tls/listener.h"

namespace pounce::bulk {

class Acceptor {
 public:
  // As tls::Listener::bind.
  static Result<std::unique_ptr<Acceptor>> bind(const std::string& endpoint);

  const std::string& endpoint() const { return listener_->endpoint(); }
  // Makes keys for one client, each valid for one connection; the client's earlier keys become invalid.
  std::vector<tls::Credential> keys_for(const std::string& client);
  // Takes keys that a client made for a lane between two of its workers.
  void take_keys(const std::string& client, std::vector<tls::Credential> credentials);
  void forget(const std::string& client);
  void forget_all(const std::string& beginning);  // all clients whose names begin so
  // The client's name and its channel; call until nullopt.
  std::optional<std::pair<std::string, std::unique_ptr<tls::Channel>>> accept();

  int fd() const { return listener_->fd(); }
  TimePoint next_deadline() const { return listener_->next_deadline(); }

 private:
  explicit Acceptor(std::unique_ptr<tls::Listener> listener) : listener_(std::move(listener)) {}

  void forget_if(const std::function<bool(const std::string&)>& is_meant);

  const std::unique_ptr<tls::Listener> listener_;
  std::vector<std::pair<tls::PeerId, std::string>> given_;
};

}  // namespace pounce::bulk
