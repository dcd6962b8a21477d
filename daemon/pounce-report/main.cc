// pounce-report: any program in a lease tells how far it is. It writes lines into the named pipe of its worker
// (docs/reports.md) and ends; it waits only where the worker is far behind.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "pounce-report/report_lines.h"
#include "pounce/version.h"

namespace {

using pounce::Error;
using pounce::ErrorCode;
using pounce::failure;
using pounce::Result;

constexpr int kOk = 0, kFailed = 1, kUsage = 2;  // as pouncectl's
constexpr int kWaitMs = 60'000;
constexpr char kVariable[] = "POUNCE_REPORT";

constexpr char kPage[] = R"(pounce-report [NAME=NUMBER...] [--status TEXT] [--file PATH...]
tells the notebook, pouncectl status and the MLflow run how far a program in a lease is.

  NAME=NUMBER       numbers, each with its name; step=N is their step
  --status TEXT     what it does now, in a few words
  --file PATH       a file that it has written: a picture is shown, an MLflow run keeps it
  --help, --version

Exit codes: 0 it is on its way, 1 this is no lease, or its worker does not read, 2 wrong usage.

Examples:
  pounce-report loss=0.3 step=7
  pounce-report --file curve.png --status "epoch 3"
)";

Result<pounce::UniqueFd> open_pipe() {
  const char* path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0')
    return failure(ErrorCode::kBadRequest, std::string("this is no lease of pounce: ") + kVariable + " is not set",
                   "Start the program with pouncectl run, or from a cell or a call on a worker.");
  pounce::UniqueFd pipe(::open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  if (!pipe)
    return failure(ErrorCode::kBadRequest,
                   std::string("the worker does not listen at ") + path + ": " +
                       (errno == ENXIO ? "it has ended" : std::strerror(errno)),
                   "Report while the lease lives, on its own node.");
  if (::fstat(pipe.get(), &facts) != 0 || !S_ISFIFO(facts.st_mode))
    return failure(ErrorCode::kBadRequest, std::string(path) + " is no pipe",
                   std::string("Leave ") + kVariable + " as pounce has set it.");
  return pipe;
}

// A line is taken whole or not at all: it fits into what a pipe takes at a time.
Result<void> write_line(int pipe, const std::string& line) {
  while (::write(pipe, line.data(), line.size()) < 0) {
    pollfd writable{pipe, POLLOUT, 0};
    const bool is_full = errno == EAGAIN;
    if (errno == EINTR || (is_full && ::poll(&writable, 1, kWaitMs) > 0)) continue;
    return failure(ErrorCode::kBadRequest, is_full ? "the worker does not read what is reported" : "the worker is gone",
                   "Report while the lease lives.");
  }
  return {};
}

int told(const Error& error, int code) {
  std::fprintf(stderr, "pounce-report: %s. %s\n", error.text.c_str(), error.remedy.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto words = pounce::reporter::read_words({argv + 1, argv + argc});
  if (!words) return told(words.error(), kUsage);
  if (words->help) return std::fputs(kPage, stdout), kOk;
  if (words->version) return std::puts(pounce::kVersion), kOk;
  const auto lines = pounce::reporter::lines_of(*words);
  if (!lines) return told(lines.error(), kUsage);
  const auto pipe = open_pipe();
  if (!pipe) return told(pipe.error(), kFailed);
  for (const std::string& line : *lines)
    if (const auto written = write_line(pipe->get(), line); !written) return told(written.error(), kFailed);
  return kOk;
}
