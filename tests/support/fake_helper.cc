// Stands in for pounce-slurm in the gateway's tests. Each request takes the next line of the file that FAKE_PLAN names,
// so that a plan goes on through the deaths of helpers:
//   answer         as pounce-slurm would; version tells pid, descriptors, blocked signals and environment names
//   refuse CODE    an error with that code, and its reason on standard error only, as libslurm does
//   apart          is refused, with libslurm's words for a slurmctld that does not speak its protocol
//   die CODE       prints a fatal line and exits
//   hang           takes the request and never answers
//   garbage, wrong_id, long_record   lies
//   flood          prints a megabyte, then answers
// Without a line left it answers.
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "protocol/stream_framing.h"
#include "slurm/wire.h"

using namespace pounce;  // NOLINT: a test's program

namespace {

constexpr int kSocket = 3;

std::string take_line() {
  const char* path = std::getenv("FAKE_PLAN");
  if (path == nullptr) return "answer";
  std::ifstream file(path);
  std::string first = "answer", rest;
  std::getline(file, first);
  for (std::string line; std::getline(file, line);) rest += line + "\n";
  std::ofstream(path, std::ios::trunc) << rest;
  return first.empty() ? "answer" : first;
}

std::string descriptors() {
  std::vector<int> numbers;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(folder))
      numbers.push_back(std::atoi(entry->d_name));
  ::closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (const int number : numbers) text += std::to_string(number) + " ";
  return text;
}

std::string blocked_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return line;
  return {};
}

std::string self() {
  std::string text =
      "pid " + std::to_string(::getpid()) + "; fds " + descriptors() + "; " + blocked_signals() + "; env";
  for (char** setting = environ; *setting != nullptr; ++setting)
    text += " " + std::string(*setting).substr(0, std::string(*setting).find('='));
  return text;
}

std::string good(const slurm::AskVersion&) { return self(); }
JobIdentity good(const slurm::Submit&) { return {{4711}, 1'700'000'000, 0}; }
ClusterFacts good(const slurm::AskFacts&) {
  ClusterFacts facts;
  facts.cluster = "fake";
  return facts;
}
std::vector<JobView> good(const slurm::Poll& asked) {
  std::vector<JobView> views;
  for (const JobIdentity& job : asked.jobs) views.emplace_back().job_identity = job;
  return views;
}
template <class Asked>
typename Asked::Answer good(const Asked&) {
  return {};
}

void send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) std::exit(0);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void answer(const slurm::Request& request) {
  std::istringstream line(take_line());
  std::string word, code;
  line >> word >> code;
  slurm::Answer said{request.id, std::visit([](const auto& asked) { return std::any(good(asked)); }, request.question)};
  if (word == "die") {
    std::fprintf(stderr, "pounce-slurm: fatal: the reason of its death\n");
    std::exit(std::atoi(code.c_str()));
  }
  if (word == "hang") ::pause();
  if (word == "garbage") return send(protocol::frame_record("this is no answer"));
  if (word == "long_record") return send(std::string("\xff\xff\xff\xff", 4));
  if (word == "wrong_id") said.id += 1000;
  if (word == "flood") std::fputs(std::string(1 << 20, 'x').c_str(), stderr);
  if (word == "refuse") {
    std::fprintf(stderr, "pounce-slurm: error: QOSMaxGRESPerUser\n");
    said.value = failure(error_code_from_wire(code), "Slurm refused");
  }
  if (word == "apart") {
    std::fprintf(stderr,
                 "pounce-slurm: error: slurm_unpack_received_msg: Incompatible versions of client and server code\n");
    said.value = failure(ErrorCode::kRejected, "this cluster refuses it");
  }
  send(protocol::frame_record(encode(said, request.question)));
}

}  // namespace

int main() {
  protocol::RecordReader reader(slurm::kRecordBytes);
  char buffer[65536];
  for (ssize_t n = 0; (n = ::recv(kSocket, buffer, sizeof buffer, 0)) > 0;) {
    reader.append({buffer, static_cast<std::size_t>(n)});
    for (auto record = reader.next(); record && *record; record = reader.next())
      answer(*slurm::decode_request(**record));
  }
  return 0;
}
