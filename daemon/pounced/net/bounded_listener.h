// A TCP port of pounced's in front of one of its ZeroMQ sockets, for all peers that come from elsewhere. libzmq takes
// every connection there is a descriptor for, keeps every part of an unfinished message, and aborts where an ipc
// socket finds no descriptor (gotchas Z3, Z12). Thread: its own; the questions from any.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/network.h"
#include "base/unique_fd.h"
#include "model/status_document.h"
#include "pounce/error.h"

namespace pounce::daemon {

// How many connections from elsewhere pounced holds, and how many requests a second it takes, so that an untrusted
// peer takes neither its memory nor its last descriptor nor its time.

// So many a second, with a reserve for bursts. Time comes as an argument. Thread: the owner's.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), level_(burst) {}

  bool take(TimePoint now) {
    const std::chrono::duration<double> passed = now - last_;
    if (passed.count() > 0) level_ = std::min(burst_, level_ + passed.count() * per_second_);
    last_ = std::max(last_, now);
    if (level_ < 1) return false;
    level_ -= 1;
    return true;
  }

 private:
  const double per_second_, burst_;
  double level_;
  TimePoint last_{};
};

// Pure. Thread: any.
struct ListenerBounds {
  std::size_t connections = 0;           // at a time; others wait in the kernel's queue
  std::size_t newcomers = 0;             // of these, the young ones: they may be untrusted peers
  std::chrono::milliseconds newcomer{};  // how long one is a newcomer: libzmq cuts an untrusted peer by then
  bool stays = false;                    // whether it stays afterwards; else it is cut
};

// The bytes that a newcomer may send. A hello with its handshake needs a third; libzmq keeps all of an unfinished
// message.
inline constexpr std::size_t kNewcomerBytes = 32 * 1024;

// descriptors: this process's limit.
ListenerBounds handshake_bounds(std::size_t descriptors);
ListenerBounds control_bounds(std::size_t descriptors);

// One connection from elsewhere and the one that stands for it inside: bytes go both ways as they are, no more than
// the other side takes, and of a newcomer no more than its allowance. Never blocks.
class ProxiedConnection {
 public:
  // allowance: how many bytes the peer may send until settle().
  ProxiedConnection(UniqueFd peer, UniqueFd inside, std::size_t allowance)
      : peer_(std::move(peer)), inside_(std::move(inside)), inwards_{{}, allowance} {}

  // Moves the bytes that can move now, so that both descriptors signal the next change. False: one side has ended;
  // its last bytes have been handed on if the other side took them.
  bool pump();
  void settle() { inwards_.allowance = kUnlimited; }  // then pump again

  // The sides that have not taken all bytes held for them. Only these are watched for room, because a watch on any
  // other side would fire for each byte that it takes.
  struct Full {
    bool peer = false, inside = false;
    bool operator==(const Full&) const = default;
  };
  Full full() const { return {!outwards_.pending.empty(), !inwards_.pending.empty()}; }

  int peer() const { return peer_.get(); }
  int inside() const { return inside_.get(); }

 private:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  enum class Step : std::uint8_t { kOn, kLater, kOver };

  struct Flow {
    std::string pending{};  // read, but not yet taken by the other side
    std::size_t allowance = kUnlimited;
    bool move(int from, int to);
    Step hand_on(int to);
    Step take(int from);
  };

  UniqueFd peer_, inside_;
  Flow inwards_, outwards_;
};

// Connections, their number, their bytes and their time are counted first; what passes goes on, unread, to a socket in
// the runtime folder, where libzmq asks for keys as ever. A peer that finds no room waits in the kernel's line.
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
