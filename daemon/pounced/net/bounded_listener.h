// A TCP port in front of one of pounced's ZeroMQ sockets, for all peers that come over the network. libzmq accepts
// connections as long as there are descriptors, keeps every part of an unfinished message, and aborts if an ipc
// socket finds no descriptor (gotchas Z3, Z12). So this listener first bounds the number of connections, their bytes
// and their time. Accepted bytes go on, unread, to a socket in the runtime folder, where libzmq checks keys as usual.
// A connection that finds no room waits in the kernel's queue. Thread: its own; the questions from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/listening_socket.h"
#include "base/unique_fd.h"
#include "model/status_document.h"
#include "pounce/result.h"
#include "pounced/net/listener_bounds.h"
#include "pounced/net/proxied_connection.h"
#include "pounced/net/token_bucket.h"

namespace pounce::daemon {

class BoundedListener {
 public:
  // inside: the path of the socket behind this listener.
  static Result<std::unique_ptr<BoundedListener>> open(std::string name, ListeningSocket listening, std::string inside,
                                                       ListenerBounds bounds);
  ~BoundedListener();

  const std::string& endpoint() const { return listening_.endpoint; }
  model::ListenerRow row() const;

 private:
  using Id = std::uint64_t;

  BoundedListener(std::string name, ListeningSocket listening, std::string inside, ListenerBounds bounds)
      : name_(std::move(name)), listening_(std::move(listening)), inside_(std::move(inside)), bounds_(bounds) {}
  Result<void> watch();
  void serve(std::stop_token stop);
  void turn();
  void look_at(Id id);
  void accept_some();
  bool accept_one();
  void wait_for(Id id);
  bool has_room() const;
  void note_room();
  void settle_newcomers();
  void close(Id id);
  int time_left() const;

  const std::string name_;
  const ListeningSocket listening_;
  const std::string inside_;
  const ListenerBounds bounds_;
  UniqueFd epoll_, stop_;

  struct Watched {
    ProxiedConnection connection;
    ProxiedConnection::Full full{};  // the sides that are watched for room
  };

  std::map<Id, Watched> connections_;
  std::map<Id, TimePoint> newcomers_;  // in order of arrival: the first settles first
  Id last_id_ = 1;                     // 0: the port, 1: the end
  TimePoint no_descriptor_until_{};    // set when the process's limit is reached nevertheless
  TokenBucket lines_{1.0 / 60, 1};     // an untrusted peer could fill the log
  std::uint64_t unsaid_ = 0;
  bool said_ = false, waits_ = false;

  std::atomic<std::uint64_t> held_ = 0, times_full_ = 0;
  std::atomic<bool> full_ = false;
  std::jthread thread_;  // last: it uses all of the above until it is joined
};

}  // namespace pounce::daemon
