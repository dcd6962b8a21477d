// A control group of a test's own that bounds the memory of a process, as a job's does (version 1 or 2).
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

namespace pounce {

class MemoryGroup {
 public:
  // Null: nobody lets us make one here.
  static std::unique_ptr<MemoryGroup> make(std::uint64_t limit) {
    const std::string name = "/pounce-test-" + std::to_string(::getpid());
    for (const auto& [root, file] :
         {std::pair("/sys/fs/cgroup/memory", "/memory.limit_in_bytes"), std::pair("/sys/fs/cgroup", "/memory.max")}) {
      if (::mkdir((root + name).c_str(), 0755) != 0) continue;
      auto made = std::unique_ptr<MemoryGroup>(new MemoryGroup(root + name));
      if (made->write(file, limit)) return made;
    }
    return nullptr;
  }
  ~MemoryGroup() { ::rmdir(folder_.c_str()); }

  bool take(pid_t process) const { return write("/cgroup.procs", static_cast<std::uint64_t>(process)); }

 private:
  explicit MemoryGroup(std::string folder) : folder_(std::move(folder)) {}
  bool write(const std::string& file, std::uint64_t value) const {
    std::ofstream stream(folder_ + file, std::ios::in);  // it is there or not: none is made
    stream << value << std::flush;
    return stream.good();
  }

  const std::string folder_;
};

}  // namespace pounce
