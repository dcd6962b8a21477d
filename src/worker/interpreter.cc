#include "worker/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace pounce::worker {
namespace {

constexpr int kCannotRun = 127;  // as a shell says it

struct Pipe {
  UniqueFd read, write;
};

tl::unexpected<Error> no_interpreter(const char* what) {
  return failure(ErrorCode::kInternal, std::string("cannot start the interpreter: ") + what + ": " + std::strerror(errno));
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool open_pipe(Pipe& pipe) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  pipe.read.reset(fds[0]);
  pipe.write.reset(fds[1]);
  return true;
}

// Everything the child needs, made before fork: after it only plain system calls are allowed (the parent has threads).
struct Child {
  std::vector<std::string> arguments, environment;
  std::vector<char*> argv, envp;
  std::array<int, 5> inherited;  // supervisor, output, errors, log, page: the order worker.py expects
  int standard_output, standard_error;
  rlimit core_limit;
  pid_t parent;

  [[noreturn]] void run() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no interpreter outlives its supervisor
    if (::getppid() != parent) ::_exit(kCannotRun);
    ::setpgid(0, 0);  // signals meant for the supervisor's group do not reach user code
    ::setrlimit(RLIMIT_CORE, &core_limit);
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(standard_output, 1) < 0 || ::dup2(standard_error, 2) < 0)
      ::_exit(kCannotRun);
    for (const int fd : inherited) ::fcntl(fd, F_SETFD, 0);
    reset_signals();
    ::execvpe(argv[0], argv.data(), envp.data());
    constexpr char kMessage[] = "pounce-worker: the interpreter cannot be executed\n";
    static_cast<void>(!::write(2, kMessage, sizeof(kMessage) - 1));
    ::_exit(kCannotRun);
  }

  static void reset_signals() {
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }
};

std::string list_of(const std::array<int, 5>& fds) {
  std::string text;
  for (const int fd : fds) text += (text.empty() ? "" : ",") + std::to_string(fd);
  return text;
}

std::vector<std::string> environment_for(const InterpreterPlan& plan, const std::array<int, 5>& inherited) {
  Environment environment = plan.environment;
  environment["POUNCE_SUPERVISOR_FD"] = list_of(inherited);
  environment["POUNCE_FACING"] = plan.facing;
  environment["POUNCE_INTERFACE"] = plan.interface;
  environment["POUNCE_PORTS"] = plan.ports;
  environment["POUNCE_NODE"] = plan.node;
  environment["POUNCE_DEVICES"] = plan.devices;
  environment["PYTHONSAFEPATH"] = "1";    // a pounce.py in the notebook's directory is not us
  environment["PYTHONUNBUFFERED"] = "1";  // output comes live; worker.py takes both out again
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

Result<std::unique_ptr<Interpreter>> Interpreter::start(const InterpreterPlan& plan) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return no_interpreter("socketpair");
  UniqueFd ours(sockets[0]);
  const UniqueFd theirs(sockets[1]);
  Pipe output, errors;
  if (!open_pipe(output) || !open_pipe(errors)) return no_interpreter("pipe");
  const UniqueFd log(::fcntl(plan.log_fd, F_DUPFD_CLOEXEC, 3));
  if (!log) return no_interpreter("the job's output");
  auto page_fd = RunPage::make();
  if (!page_fd) return failure(std::move(page_fd.error()));
  auto page = RunPage::map(page_fd->get());
  if (!page) return failure(std::move(page.error()));

  Child child{};
  child.inherited = {theirs.get(), output.read.get(), errors.read.get(), log.get(), page_fd->get()};
  child.arguments = plan.command;
  child.environment = environment_for(plan, child.inherited);
  child.argv = pointers_to(child.arguments);
  child.envp = pointers_to(child.environment);
  child.standard_output = output.write.get();
  child.standard_error = errors.write.get();
  child.core_limit = plan.core_limit;
  child.parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return no_interpreter("fork");
  if (pid == 0) child.run();
  return std::unique_ptr<Interpreter>(
      new Interpreter(pid, std::move(ours), std::move(output.read), std::move(errors.read), std::move(*page)));
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
