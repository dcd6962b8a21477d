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
    const std::uint64_t id = request.id;
    switch (request.operation) {
      case Operation::kFacts:
        return gateway_.facts(answer<ClusterFacts>(id, [](Answer& a, ClusterFacts v) { a.facts = std::move(v); }));
      case Operation::kSubmit:
        return gateway_.submit(request.spec, answer<Incarnation>(id, [](Answer& a, Incarnation v) { a.job = v; }));
      case Operation::kCancel:
        return gateway_.cancel(request.jobs.at(0), done(id));
      case Operation::kNote:
        return gateway_.note(request.jobs.at(0), request.note, done(id));
      case Operation::kHoldings:
        return gateway_.holdings(answer<Holdings>(id, [](Answer& a, Holdings v) { a.holdings = std::move(v); }));
      case Operation::kUsage:
        return gateway_.usage(request.from_s, answer<UsageFacts>(id, [](Answer& a, UsageFacts v) { a.usage = std::move(v); }));
      case Operation::kPoll:
        return gateway_.poll(request.jobs, answer<std::vector<JobView>>(id, &put_jobs));
      case Operation::kSweep:
        return gateway_.sweep(request.instance, answer<std::vector<JobView>>(id, &put_jobs));
      case Operation::kQueue:
        return gateway_.queue(answer<std::vector<JobView>>(id, &put_jobs));
      case Operation::kClasses:
        return gateway_.classes(answer<ClassReport>(id, [](Answer& a, ClassReport v) { a.classes = std::move(v); }));
      case Operation::kLook:
        return gateway_.look(request.jobs, answer<QueueLook>(id, [](Answer& a, QueueLook v) { a.look = std::move(v); }));
      case Operation::kVersion:
        return gateway_.version(answer<std::string>(id, [](Answer& a, std::string v) { a.version = std::move(v); }));
      case Operation::kReadQos:
        return gateway_.read_qos(answer<QosFacts>(id, &put_qos));
      case Operation::kSurvey:
        return gateway_.survey(request.not_nodes, answer<Survey>(id, [](Answer& a, Survey v) { a.survey = std::move(v); }));
      case Operation::kWriteQos:
        return gateway_.write_qos(request.qos, answer<QosFacts>(id, &put_qos));
    }
  }

  static void put_qos(Answer& answer, QosFacts facts) { answer.qos = std::move(facts); }
  static void put_jobs(Answer& answer, std::vector<JobView> jobs) { answer.jobs = std::move(jobs); }

  std::function<void(Result<void>)> done(std::uint64_t id) {
    return [this, id](Result<void> result) {
      Answer out;
      out.id = id;
      if (!result) out.error = result.error();
      print(out);
    };
  }

  template <class T, class Put>
  std::function<void(Result<T>)> answer(std::uint64_t id, Put put) {
    return [this, id, put](Result<T> result) {
      Answer out;
      out.id = id;
      if (result)
        put(out, std::move(*result));
      else
        out.error = result.error();
      print(out);
    };
  }

  void print(const Answer& answer) {
    --waiting_;
    std::printf("%d %s\n", gateway_.helper_pid(), encode(answer).c_str());
    std::fflush(stdout);
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
