// Command lines on leased workers, from C++; `pounce.Client` does the same for Python functions. This side needs no
// Python; the worker is a Python process (docs/protocol.md, "Commands"). Thread: one client and its commands belong
// to one thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/resources.h"

namespace pounce {

class Command;

class Client {
 public:
  struct Options {
    std::vector<std::string> interpreter = {"python3"};  // a Python with pounce, on the workers' machines
  };

  // Starts pounced, found on PATH, unless it runs. kDaemonUnavailable and others tell why it cannot work here.
  static Result<Client> start(Options options);
  static Result<Client> start() { return start(Options()); }
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();  // closes the client: cancels running commands and returns the leases

  // Returns at once; requests a lease if no lease fits. kClosed, kForked.
  Result<Command> command(const std::vector<std::string>& argv, const Resources& resources = {});

 private:
  friend class Command;
  struct Impl;
  explicit Client(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

class Command {
 public:
  // Blocks until the command has ended. Returns its exit code; negative: ended by that signal. Errors: kTimeout (it
  // continues), kTaskRaised (it could not be started), kCancelled, kLost and the other reasons of a loss.
  Result<int> wait(std::chrono::milliseconds timeout = std::chrono::hours(24 * 365));
  // Its output so far, both streams in the order of arrival. Does not block.
  std::string output() const;
  void cancel();

 private:
  friend class Client;
  Command(std::shared_ptr<Client::Impl> client, std::size_t number);
  std::shared_ptr<Client::Impl> client_;  // shared with the Client and its other commands
  std::size_t number_;
};

}  // namespace pounce
