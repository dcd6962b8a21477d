#include "worker/supervisor/process_tree.h"

#include <dirent.h>
#include <signal.h>

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

}  // namespace pounce::worker
