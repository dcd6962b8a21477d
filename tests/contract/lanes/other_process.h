// One end in a process of its own, which can be stopped and killed. It begins before anything else of a test is there:
// of what is forked only one thread goes on.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/unique_fd.h"

namespace pounce::lanes {

// What the two say beside the road that is tested: a text at a time.
class Line {
 public:
  explicit Line(UniqueFd fd) : fd_(std::move(fd)) {}
  void tell(const std::string& text) const {
    POUNCE_CHECK(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()),
                 "the other process hears");
  }
  std::string hear() const {
    std::array<char, 512> text;
    const ssize_t size = ::recv(fd_.get(), text.data(), text.size(), 0);
    POUNCE_CHECK(size > 0, "the other process speaks");
    return {text.data(), static_cast<std::size_t>(size)};
  }
  bool has_spoken() const {
    pollfd polled{fd_.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }

 private:
  UniqueFd fd_;
};

class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void(const Line&)>& play) {
    int ends[2];
    POUNCE_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "there are descriptors");
    process_ = ::fork();
    POUNCE_CHECK(process_ >= 0, "there is a process");
    UniqueFd ours(ends[0]), theirs(ends[1]);
    if (process_ > 0) {
      line_.emplace(std::move(ours));
      return;
    }
    ours.reset();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    play(Line(std::move(theirs)));
    ::_exit(0);
  }
  ~OtherProcess() {
    if (process_ > 0) kill();
  }

  const Line& line() const { return *line_; }
  pid_t process() const { return process_; }
  std::string pid() const { return std::to_string(process_); }

  void stop() {
    ::kill(process_, SIGSTOP);
    POUNCE_CHECK(::waitpid(process_, nullptr, WUNTRACED) == process_, "it stands still");
  }
  bool lives() const { return ::waitpid(process_, nullptr, WNOHANG) == 0; }
  void go_on() { ::kill(process_, SIGCONT); }
  void kill() {
    ::kill(process_, SIGKILL);
    POUNCE_CHECK(::waitpid(std::exchange(process_, 0), nullptr, 0) > 0, "it has ended");
  }

 private:
  pid_t process_ = 0;
  std::optional<Line> line_;
};

}  // namespace pounce::lanes
