#include "worker/supervisor/meter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "worker/supervisor/process_tree.h"

namespace pounce::worker {
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
      std::sscanf(end_of_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", &own_user, &own_system,
                  &user, &system) != 4)
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
  if (now < next_look_) return;
  next_look_ = now + kBetweenSnapshots;
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
  used_.cpu = std::max(used_.cpu, cpu);
  used_.memory_mib = std::max(used_.memory_mib, std::max(together, largest) / 1024);
}

Used Meter::used(TimePoint now) const {
  Used used = used_;
  (busy_ ? used.busy : used.idle) += std::chrono::duration_cast<milliseconds>(now - since_);
  return used;
}

}  // namespace pounce::worker
