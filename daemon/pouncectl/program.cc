#include "pouncectl/program.h"

#include <filesystem>

#include "base/process.h"

namespace pounce::ctl {

std::string own_folder() {
  std::error_code ignored;  // without /proc exec gets the bare name and fails with a clear error
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

std::string sibling(const std::string& program) { return (std::filesystem::path(own_folder()) / program).string(); }

std::string output_of(const std::vector<std::string>& argv, bool with_errors) {
  auto finished = pounce::output_of({.command = argv}, with_errors);
  return finished ? std::move(finished->output) : std::string();
}

}  // namespace pounce::ctl
