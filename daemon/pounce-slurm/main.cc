// SPDX-License-Identifier: GPL-3.0-or-later
// pounce-slurm: answers pounced's requests through libslurm, one at a time, on the socket at descriptor 3. It is the
// only program of pounce that links libslurm, which may end it at any moment; pounced then starts another.
// Runs as the user; for root or SlurmUser it only tells its version. Ends when its socket closes.
// pouncectl starts `pounce-slurm --admin` as its own caller, even as root: it reads and writes QoS, reads all users'
// jobs and their use, and does nothing else.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pounce-slurm/facts.h"
#include "protocol/stream_framing.h"
#include "slurm/wire.h"
#include "slurm_compat.h"

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
  ::unsetenv("LD_PRELOAD");  // libslurmfull is loaded; child processes do not need it
}

// Each mode does only its own requests: root must not submit, and a user's helper must not write QoS.
Result<void> allowed(const Question& question, Mode mode) {
  if (std::holds_alternative<AskVersion>(question)) return {};
  if (is_admins(question) != (mode == Mode::kAdmin))
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

Result<std::any> answer_to(const Question& question, Mode mode) {
  static bool started = false;
  auto ready = allowed(question, mode);
  if (ready && !started && !std::holds_alternative<AskVersion>(question)) {
    ready = start(mode);
    started = ready.has_value();
  }
  if (!ready) return failure(ready.error());
  return std::visit(
      [](const auto& query) { return answer(query).map([](auto&& found) { return std::any(std::move(found)); }); },
      question);
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

// Serves until the socket closes. An unreadable record means that the peer is not pounced.
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
      const Answer answer{request->id, answer_to(request->question, mode)};
      if (!send_all(protocol::frame_record(encode(answer, request->question)))) return 0;
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
