// Lets a test in another language drive the SlurmGateway: reads one request a line on standard input, as src/slurm/wire
// writes it, and prints one line for each answer, "<helper's pid> <answer>", as it comes. Ends when its input ends and
// all is answered. Its own environment, whole, becomes the helper's: a test may put anything there.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "slurm/slurm_gateway.h"
#include "slurm/wire.h"

namespace pounce::slurm {
namespace {

class Driver {
 public:
  explicit Driver(GatewayOptions options) : gateway_(std::move(options)) {}

  int run() {
    while (open_ || waiting_ > 0) {
      pollfd sources[2] = {{open_ ? STDIN_FILENO : -1, POLLIN, 0}, {gateway_.fd(), POLLIN, 0}};
      ::poll(sources, 2, wait_ms());
      if (sources[0].revents != 0) read_lines();
      if (sources[1].revents != 0) gateway_.on_readable();
      gateway_.on_time(Clock::now());
    }
    return 0;
  }

 private:
  int wait_ms() const {
    if (gateway_.next_deadline() == TimePoint::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(gateway_.next_deadline() - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000));
  }

  void read_lines() {
    char buffer[65536];
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n <= 0) {
      open_ = false;
      return;
    }
    input_.append(buffer, static_cast<std::size_t>(n));
    for (auto end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      const auto request = decode_request(input_.substr(0, end));
      input_.erase(0, end + 1);
      if (!request) {
        std::fprintf(stderr, "%s\n", request.error().text.c_str());
        std::exit(2);
      }
      ask(*request);
    }
  }

  void ask(const Request& request) {
    ++waiting_;
    gateway_.send(request.question, [this, request](Result<std::any> answer) {
      --waiting_;
      std::printf("%d %s\n", gateway_.helper_pid(), encode({request.id, std::move(answer)}, request.question).c_str());
      std::fflush(stdout);
    });
  }

  SlurmGateway gateway_;
  std::string input_;
  bool open_ = true;
  int waiting_ = 0;
};

}  // namespace
}  // namespace pounce::slurm

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gateway_driver <pounce-slurm> <deadline in ms>\n");
    return 2;
  }
  pounce::slurm::GatewayOptions options;
  options.program = argv[1];
  options.request_deadline = std::chrono::milliseconds(std::atoi(argv[2]));
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string entry(*setting);
    const auto equals = entry.find('=');
    if (equals != std::string::npos) options.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return pounce::slurm::Driver(std::move(options)).run();
}
