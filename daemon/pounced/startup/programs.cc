#include "pounced/startup/programs.h"

#include <filesystem>

namespace pounce::daemon {

std::string this_program() {
  std::error_code no_proc;  // then the bare name: exec fails with a clear error
  return std::filesystem::read_symlink("/proc/self/exe", no_proc).string();
}

std::string beside_this_program(const std::string& name) {
  return (std::filesystem::path(this_program()).parent_path() / name).string();
}

}  // namespace pounce::daemon
