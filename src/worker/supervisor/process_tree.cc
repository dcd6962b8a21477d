#include "worker/supervisor/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace pounce::worker {
namespace {

// Reads a process's parent, and whether it still runs, from /proc/<pid>/stat: "pid (name) S ppid ...". The name may
// contain any character, also parentheses.
bool parse_stat(pid_t pid, pid_t& parent, bool& running) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return false;
  char text[1024];
  const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file.get());
  text[size] = '\0';
  const char* end_of_name = std::strrchr(text, ')');
  char state = 0;
  if (end_of_name == nullptr || std::sscanf(end_of_name + 1, " %c %d", &state, &parent) != 2) return false;
  running = state != 'Z' && state != 'X';
  return true;
}

std::multimap<pid_t, pid_t> running_by_parent() {
  std::multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return children;
  while (const dirent* entry = ::readdir(proc.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    pid_t parent = 0;
    bool running = false;
    if (pid > 0 && parse_stat(pid, parent, running) && running) children.emplace(parent, pid);
  }
  return children;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  const auto children = running_by_parent();
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto it = first; it != last; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

std::size_t signal_descendants(pid_t root, int signal) {
  const auto processes = descendants_of(root);
  for (const pid_t pid : processes) ::kill(pid, signal);
  return processes.size();
}

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kBetweenSnapshots{1};

std::string content(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  char text[4096] = "";
  const std::size_t size = file ? std::fread(text, 1, sizeof text - 1, file.get()) : 0;
  return {text, size};
}

milliseconds of(const timeval& time) { return milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000); }

// "VmHWM:	   12345 kB"
std::uint64_t number_after(const char* status, const char* key) {
  const char* at = std::strstr(status, key);
  return at == nullptr ? 0 : std::strtoull(at + std::strlen(key), nullptr, 10);
}

}  // namespace

milliseconds cpu_time(const char* stat, long ticks_per_second) {
  const char* end_of_name = std::strrchr(stat, ')');
  long own_user = 0, own_system = 0, user = 0, system = 0;
  if (end_of_name == nullptr ||
      std::sscanf(end_of_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", &own_user,
                  &own_system, &user, &system) != 4)
    return milliseconds(0);
  return milliseconds((own_user + own_system + user + system) * 1000 / ticks_per_second);
}

Memory memory(const char* status) {
  // Pages of files are not counted, since the kernel can drop them. They add little to a process's own peak.
  return {number_after(status, "RssAnon:") + number_after(status, "RssShmem:"), number_after(status, "VmHWM:")};
}

void Meter::set_busy(bool busy, TimePoint now) {
  used_ = used(now);
  since_ = now;
  busy_ = busy;
}

void Meter::look(pid_t root, TimePoint now) {
  if (last_look_ && now - *last_look_ < kBetweenSnapshots) return;
  rusage ended{};
  ::getrusage(RUSAGE_CHILDREN, &ended);
  milliseconds cpu = of(ended.ru_utime) + of(ended.ru_stime);
  std::uint64_t together = 0, largest = 0;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  for (const pid_t pid : descendants_of(root)) {
    cpu += cpu_time(content(pid, "stat").c_str(), ticks);
    const Memory one = memory(content(pid, "status").c_str());
    together += one.now_kib;
    largest = std::max(largest, one.peak_kib);
  }
  if (last_look_)
    used_.cpu_percent =
        static_cast<std::uint32_t>(std::max(cpu - used_.cpu, milliseconds(0)) * 100 / (now - *last_look_));
  last_look_ = now;
  used_.cpu = std::max(used_.cpu, cpu);
  used_.memory_now_mib = together / 1024;
  used_.memory_mib = std::max(used_.memory_mib, std::max(together, largest) / 1024);
}

Used Meter::used(TimePoint now) const {
  Used used = used_;
  (busy_ ? used.busy : used.idle) += std::chrono::duration_cast<milliseconds>(now - since_);
  return used;
}

}  // namespace pounce::worker
