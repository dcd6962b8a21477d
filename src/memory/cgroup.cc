#include "memory/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace pounce::memory {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kBesides = 32 * kMiB;  // the receiver itself takes some too: pieces that are under way

std::string words(std::uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

}  // namespace

Result<void> fits(std::uint64_t size, std::uint64_t promised, const RoomFor& room_for) {
  const std::uint64_t others = promised + kBesides;
  const auto room = room_for ? room_for(size + others) : std::nullopt;
  if (!room || size + others <= room->left) return {};
  auto refused =
      Error{ErrorCode::kOutOfMemory,
            "an object of " + words(size) + " does not fit into this job's memory: of " + words(room->limit) +
                " there are " + words(room->left - std::min(room->left, others)) + " left for it",
            {},
            {}};
  refused.context["memory_limit_mib"] = std::to_string(room->limit / kMiB);
  return failure(std::move(refused));
}

namespace {

constexpr std::streamsize kLongestLine = 256;               // of /proc/meminfo
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;  // version 1 writes "none" as a number near 2^63

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// "oom_kill 3" on a line of its own.
std::optional<std::uint64_t> counter(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ' ')
      return number(std::string_view(line).substr(name.size() + 1));
  return std::nullopt;
}

}  // namespace

MemoryEvents MemoryEvents::of_this_process() {
  return MemoryEvents(read_file("/proc/self/cgroup").value_or(""), read_file);
}

MemoryEvents::MemoryEvents(const std::string& cgroups, ReadFile read) : read_(std::move(read)) {
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/slurm/uid_0/job_7", "0::/system.slice"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/')))
      groups_.push_back({root + path, unified});
  }
}

std::optional<std::uint64_t> MemoryEvents::kills() const {
  std::optional<std::uint64_t> sum;
  for (const Group& group : groups_) {
    const auto text = read_(group.folder + (group.unified ? "/memory.events" : "/memory.oom_control"));
    const auto kills = text ? counter(*text, "oom_kill") : std::nullopt;
    if (kills) sum = sum.value_or(0) + *kills;
  }
  return sum;
}

std::optional<std::uint64_t> MemoryEvents::limit() const {
  std::optional<std::uint64_t> least;
  for (const Group& group : groups_)
    if (const auto limit = limit_of(group)) least = std::min(least.value_or(*limit), *limit);
  return least;
}

std::optional<Room> MemoryEvents::room(std::uint64_t wanted) const {
  std::optional<Room> narrowest;
  for (const Group& group : groups_) {
    const auto limit = limit_of(group), used = limit ? used_by(group) : std::nullopt;
    if (!used) continue;
    std::uint64_t left = *limit - std::min(*limit, *used);
    // Only when needed: the kernel adds this up at each read.
    if (left < wanted) left += std::min(*used, cached_by(group));
    if (!narrowest || left < narrowest->left) narrowest = Room{*limit, left};
  }
  return narrowest;
}

std::optional<std::uint64_t> MemoryEvents::limit_of(const Group& group) const {
  const auto text = read_(group.folder + (group.unified ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto limit = text ? number(*text) : std::nullopt;
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

std::optional<std::uint64_t> MemoryEvents::used_by(const Group& group) const {
  const auto text = read_(group.folder + (group.unified ? "/memory.current" : "/memory.usage_in_bytes"));
  return text ? number(*text) : std::nullopt;
}

// Counts files only: memory that processes share is not included.
std::uint64_t MemoryEvents::cached_by(const Group& group) const {
  const auto text = read_(group.folder + "/memory.stat");
  const std::string all = group.unified ? "" : "total_";  // includes the groups below
  std::uint64_t bytes = 0;
  for (const char* name : {"inactive_file", "active_file"}) bytes += text ? counter(*text, all + name).value_or(0) : 0;
  return bytes;
}

namespace {

// Of /proc/meminfo, which has kB.
std::uint64_t available_on_machine() {
  std::istringstream lines(read_file("/proc/meminfo").value_or(""));
  std::string name;
  for (std::uint64_t kib = 0; lines >> name >> kib; lines.ignore(kLongestLine, '\n'))
    if (name == "MemAvailable:") return kib * 1024;
  return UINT64_MAX;
}

}  // namespace

std::size_t memory_to_keep() {
  const auto machine =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(machine, MemoryEvents::of_this_process().limit().value_or(machine)) / 8;
}

std::uint64_t free_memory() {
  const auto room = MemoryEvents::of_this_process().room(UINT64_MAX);
  return std::min(room ? room->left : UINT64_MAX, available_on_machine());
}

bool memory_is_limited() {
  static const bool limited = MemoryEvents::of_this_process().limit().has_value();
  return limited;
}

}  // namespace pounce::memory
