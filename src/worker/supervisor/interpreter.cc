#include "worker/supervisor/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/pipe.h"
#include "base/process.h"

namespace pounce::worker {
namespace {

// The child's descriptors: supervisor, output, errors, log, page, in the order that python/pounce/_worker expects.
constexpr char kInherited[] = "3,4,5,6,7";

tl::unexpected<Error> no_interpreter(const char* what) {
  return failure(ErrorCode::kInternal, std::string("cannot start the interpreter: ") + what + ": " + std::strerror(errno));
}

Environment environment_for(const InterpreterPlan& plan) {
  Environment environment = plan.environment;
  environment["POUNCE_SUPERVISOR_FD"] = kInherited;
  environment["POUNCE_FACING"] = plan.facing;
  environment["POUNCE_INTERFACE"] = plan.interface;
  environment["POUNCE_PORTS"] = plan.ports;
  environment["POUNCE_NODE"] = plan.node;
  environment["POUNCE_DEVICES"] = plan.devices;
  environment["POUNCE_STATE"] = plan.state;
  // A pounce.py in the notebook's directory must not hide ours; the interpreter removes this again.
  environment["PYTHONSAFEPATH"] = "1";
  environment["PYTHONUNBUFFERED"] = "1";  // live output, also of user code's own children
  return environment;
}

}  // namespace

Result<std::unique_ptr<Interpreter>> Interpreter::start(const InterpreterPlan& plan) {
  auto sockets = make_socket_pair();  // ours, theirs
  if (!sockets) return no_interpreter("socketpair");
  auto output = make_pipe(), errors = make_pipe();
  if (!output || !errors) return no_interpreter("pipe");
  auto page_fd = RunPage::make();
  if (!page_fd) return failure(std::move(page_fd.error()));
  auto page = RunPage::map(page_fd->get());
  if (!page) return failure(std::move(page.error()));

  Program program{.command = plan.command};
  program.environment = environment_for(plan);
  program.descriptors = {{STDOUT_FILENO, output->writer.get()}, {STDERR_FILENO, errors->writer.get()},
                         {3, sockets->writer.get()}, {4, output->reader.get()}, {5, errors->reader.get()},
                         {6, plan.log_fd}, {7, page_fd->get()}};
  program.standing = Standing::kOwnGroup;  // signals for the supervisor's group do not reach user code
  program.death_signal = SIGKILL;          // no interpreter outlives its supervisor
  program.before_exec = [&plan](pid_t pid) -> Result<void> {
    if (::prlimit(pid, RLIMIT_CORE, &plan.core_limit, nullptr) != 0) return no_interpreter("the core file's limit");
    return {};
  };
  const auto pid = start_process(program);
  if (!pid) return failure(pid.error());
  return std::unique_ptr<Interpreter>(
      new Interpreter(*pid, std::move(sockets->reader), std::move(output->reader), std::move(errors->reader), std::move(*page)));
}

Interpreter::Interpreter(pid_t pid, UniqueFd socket, UniqueFd output, UniqueFd errors, RunPage page)
    : pid_(pid), socket_(std::move(socket)), output_(std::move(output)), errors_(std::move(errors)), page_(std::move(page)) {}

std::string Interpreter::last_words() {
  std::string words;
  for (const UniqueFd* fd : {&output_, &errors_}) {
    ::fcntl(fd->get(), F_SETFL, ::fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    char buffer[16 * 1024];
    for (ssize_t got; (got = ::read(fd->get(), buffer, sizeof(buffer))) > 0;) words.append(buffer, static_cast<std::size_t>(got));
  }
  return words;
}

}  // namespace pounce::worker
