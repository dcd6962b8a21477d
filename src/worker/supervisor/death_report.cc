#include "worker/supervisor/death_report.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <deque>
#include <sstream>

#include "base/join.h"

namespace pounce::worker {
namespace {

constexpr char kOurLogMark[] = " pounce-worker ";  // base/log.cc: "<time> <level> <program> <text>"
constexpr std::size_t kTimeChars = 23;

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

bool is_our_log_line(const std::string& line) {
  return line.size() > kTimeChars && line[4] == '-' && line[10] == 'T' &&
         line.find(kOurLogMark, kTimeChars) != std::string::npos;
}

Cause cause(const Death& death) {
  const std::string& node = death.node;
  if (death.killed_for_memory)
    return {.code = CauseCode::kWorkerMemory, .number = static_cast<std::uint32_t>(death.memory_limit.value_or(0) >> 20), .node = node};
  if (death.gave_up) return {.code = CauseCode::kTaskDidNotStop, .node = node};
  if (!death.was_ready) return {.code = CauseCode::kDidNotStart, .node = node, .said = death.command};
  if (WIFSIGNALED(death.wait_status)) {
    const int signal = WTERMSIG(death.wait_status);
    return {.code = CauseCode::kDiedOfSignal, .node = node, .word = signal_name(signal), .said = ::strsignal(signal)};
  }
  return {.code = CauseCode::kEndedItself, .number = static_cast<std::uint32_t>(WEXITSTATUS(death.wait_status)), .node = node};
}

std::string list_of(const std::vector<TaskId>& tasks) {
  return joined(tasks, ",", &TaskId::hex);
}

ErrorCode code(const Death& death) {
  if (death.gave_up) return ErrorCode::kCancelled;
  return death.killed_for_memory ? ErrorCode::kOutOfMemory : ErrorCode::kWorkerCrashed;
}

void add_evidence(Error& error, const std::string& key, const std::optional<std::vector<TaskId>>& started) {
  if (!key.empty()) error.context["key"] = key;
  if (started) error.context["started"] = list_of(*started);
}

}  // namespace

Error departure_report(const Cause& why, const std::optional<std::vector<TaskId>>& started, const std::string& key) {
  Error error = error_of(ErrorCode::kLeaseEnded, why);
  add_evidence(error, key, started);
  return error;
}

Error death_report(const Death& death) {
  Error error = death.unfit ? *death.unfit : error_of(code(death), cause(death));
  error.context["node"] = death.node;
  error.context["last_lines"] = death.last_lines;
  if (WIFSIGNALED(death.wait_status)) {
    error.context["signal"] = std::to_string(WTERMSIG(death.wait_status));
    error.context["signal_name"] = signal_name(WTERMSIG(death.wait_status));
  } else {
    error.context["exit_code"] = std::to_string(WEXITSTATUS(death.wait_status));
  }
  if (death.memory_limit) error.context["memory_limit_mib"] = std::to_string(*death.memory_limit >> 20);
  error.context["running"] = death.running ? death.running->hex() : "";
  add_evidence(error, death.key, death.started);
  return error;
}

std::string tail_of(const std::string& text, std::size_t lines, std::size_t bytes) {
  std::deque<std::string> kept;
  std::size_t size = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (is_our_log_line(line)) continue;
    if (line.size() > bytes) line.erase(0, line.size() - bytes);
    size += line.size() + 1;
    kept.push_back(std::move(line));
    while (kept.size() > lines || size > bytes + 1) {
      size -= kept.front().size() + 1;
      kept.pop_front();
    }
  }
  std::string tail;
  for (const std::string& line : kept) tail += (tail.empty() ? "" : "\n") + line;
  return tail;
}

}  // namespace pounce::worker
