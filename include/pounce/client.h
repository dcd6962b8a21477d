// Command lines on leased workers, from C++: what `pounce.Client` is for Python functions. Needs no Python on this side; the
// worker is Python all the same (docs/protocol.md, "Commands"). Thread: one client and its commands belong to one thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pounce/resources.h"
#include "pounce/result.h"

namespace pounce {

class Command;

class Client {
 public:
  struct Options {
    std::vector<std::string> interpreter = {"python3"};  // a Python with pounce in it, where the workers are
  };

  // Starts pounced, found on PATH, unless it runs. kDaemonUnavailable and others: why it cannot work here.
  static Result<Client> start(Options options);
  static Result<Client> start() { return start(Options()); }
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  // closes: what runs is cancelled, the leases are given back

  // Returns at once; a lease is asked for if there is none that fits. kClosed, kForked.
  Result<Command> command(const std::vector<std::string>& argv, const Resources& resources = {});

 private:
  friend class Command;
  struct Impl;
  explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

class Command {
 public:
  // Blocks until it has ended. Its exit code, negative: ended by that signal; or why there is none: kTimeout (it goes on),
  // kTaskRaised (it could not be started), kCancelled, kLost and the other reasons of a loss.
  Result<int> wait(std::chrono::milliseconds timeout = std::chrono::hours(24 * 365));
  // What it has printed so far, both streams in the order of arrival. Does not block.
  std::string output() const;
  void cancel();

 private:
  friend class Client;
  Command(std::shared_ptr<Client::Impl> client, std::size_t number);
  std::shared_ptr<Client::Impl> client_;  // shared with the Client and its other commands
  std::size_t number_;
};

}  // namespace pounce
