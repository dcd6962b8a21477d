// SPDX-License-Identifier: GPL-3.0-or-later
// pounce-slurm: answers pounced's requests through libslurm, one at a time, on the socket that is descriptor 3. The
// only program of pounce that links libslurm, which may end it at any moment; pounced then starts another (design §2).
// Runs as the user; for root or SlurmUser it does nothing but tell its version. Ends when its socket closes.
// `pounce-slurm --admin` is pouncectl's, which starts it as whoever runs that, root too: it reads and writes QoS, reads
// everybody's jobs and what they have used, and does nothing else.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "class_report.h"
#include "conf.h"
#include "facts.h"
#include "holdings.h"
#include "job_views.h"
#include "protocol/stream_framing.h"
#include "qos.h"
#include "room.h"
#include "slurm/wire.h"
#include "slurm_compat.h"
#include "submit.h"
#include "survey.h"
#include "usage.h"

namespace pounce::slurm {
namespace {

constexpr int kSocket = 3;

enum class Mode { kUser, kAdmin };

// An outer job's variables would become defaults of the jobs submitted here (gotchas S8).
void forget_outer_job() {
  for (char** setting = environ; *setting != nullptr;) {
    const std::string entry(*setting);
    const std::string name = entry.substr(0, entry.find('='));
    if (name.starts_with("SLURM_") && !name.starts_with("SLURM_CONF"))
      ::unsetenv(name.c_str());
    else
      ++setting;
  }
  ::unsetenv("LD_PRELOAD");  // libslurmfull is loaded; nothing that is started from here needs it
}

template <class T>
void put(Answer& answer, Result<T> result, T Answer::* field) {
  if (result)
    answer.*field = std::move(*result);
  else
    answer.error = result.error();
}

void serve(const Request& request, Answer& answer) {
  switch (request.operation) {
    case Operation::kFacts:
      return put(answer, read_facts(), &Answer::facts);
    case Operation::kSubmit:
      return put(answer, submit(request.spec), &Answer::job);
    case Operation::kCancel:
      if (const auto done = cancel(request.jobs.at(0)); !done) answer.error = done.error();
      return;
    case Operation::kNote:
      if (const auto done = note(request.jobs.at(0), request.note); !done) answer.error = done.error();
      return;
    case Operation::kPoll:
      return put(answer, poll_jobs(request.jobs), &Answer::jobs);
    case Operation::kSweep:
      return put(answer, jobs_of_instance(request.instance), &Answer::jobs);
    case Operation::kQueue:
      return put(answer, queue_of_user(), &Answer::jobs);
    case Operation::kClasses:
      return put(answer, class_report(), &Answer::classes);
    case Operation::kSurvey:
      return put(answer, survey(request.not_nodes), &Answer::survey);
    case Operation::kLook:
      return put(answer, look_at_queue(request.jobs), &Answer::look);
    case Operation::kVersion:
      answer.version = loaded_libslurm();
      return;
    case Operation::kReadQos:
      return put(answer, read_qos(), &Answer::qos);
    case Operation::kHoldings:
      return put(answer, read_holdings(), &Answer::holdings);
    case Operation::kUsage:
      return put(answer, read_usage(request.from_s), &Answer::usage);
    case Operation::kWriteQos:
      return put(answer, write_qos(request.qos), &Answer::qos);
  }
  answer.error = Error{ErrorCode::kProtocol, "pounce-slurm does not know this operation", {}, {}};
}

bool is_admins(Operation operation) {
  return operation == Operation::kReadQos || operation == Operation::kWriteQos || operation == Operation::kHoldings ||
         operation == Operation::kUsage;
}

// Each mode does what the other one must not: nobody submits as root, and no user's helper writes QoS.
Result<void> allowed(Operation operation, Mode mode) {
  if (operation == Operation::kVersion) return {};
  if (is_admins(operation) != (mode == Mode::kAdmin))
    return failure(ErrorCode::kProtocol, "pounce-slurm does not do this in this mode");
  if (mode == Mode::kUser && ::geteuid() == 0)
    return failure(ErrorCode::kRefusesRoot, "root may not lease workers from Slurm");
  return {};
}

Result<void> start(Mode mode) {
  const auto started = start_libslurm();
  if (!started || mode == Mode::kAdmin) return started;
  return check_user();
}

Answer answer_to(const Request& request, Mode mode) {
  static bool started = false;
  Answer answer;
  answer.id = request.id;
  auto ready = allowed(request.operation, mode);
  if (ready && !started && request.operation != Operation::kVersion) {
    ready = start(mode);
    started = ready.has_value();
  }
  if (ready)
    serve(request, answer);
  else
    answer.error = ready.error();
  return answer;
}

bool send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Until the socket closes; a record that cannot be read means that the other end is not pounced.
int serve_socket(Mode mode) {
  protocol::RecordReader reader(kRecordBytes);
  char buffer[65536];
  while (true) {
    const ssize_t n = ::recv(kSocket, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    reader.append({buffer, static_cast<std::size_t>(n)});
    while (true) {
      const auto record = reader.next();
      if (!record) return 1;
      if (!*record) break;
      const auto request = decode_request(**record);
      if (!request) return 1;
      const Answer answer = answer_to(*request, mode);
      if (!send_all(protocol::frame_record(encode(answer)))) return 0;
    }
  }
}

}  // namespace
}  // namespace pounce::slurm

int main(int argc, char** argv) {
  using pounce::slurm::Mode;
  const bool admin = argc == 2 && std::string_view(argv[1]) == "--admin";
  if (argc > 1 && !admin) {
    std::fputs("pounce-slurm is started by pounced and takes no arguments; see pounced --help.\n", stderr);
    return 2;
  }
  struct stat is;
  if (::fstat(pounce::slurm::kSocket, &is) != 0 || !S_ISSOCK(is.st_mode)) {
    std::fputs("pounce-slurm is started by pounced, which gives it a socket as descriptor 3.\n", stderr);
    return 2;
  }
  pounce::slurm::forget_outer_job();
  return pounce::slurm::serve_socket(admin ? Mode::kAdmin : Mode::kUser);
}
