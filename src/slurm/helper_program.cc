#include "slurm/helper_program.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "pounce/version.h"

namespace pounce::slurm {
namespace {

namespace fs = std::filesystem;

fs::path all_of(const std::string& base) { return fs::path(base) / kHelperName / kVersion; }

bool is_for_this_machine(const fs::path& folder) {
  std::error_code absent;
  return fs::exists(folder / kLibraryLink, absent) && ::access((folder / kHelperName).c_str(), X_OK) == 0;
}

std::string newest_in(const std::string& base) {
  std::string newest;
  fs::file_time_type its_time{};
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(all_of(base), unreadable)) {
    if (!is_for_this_machine(entry.path())) continue;
    const fs::path program = entry.path() / kHelperName;
    const auto time = fs::last_write_time(program, unreadable);
    if (!newest.empty() && time <= its_time) continue;
    newest = program.string(), its_time = time;
  }
  return newest;
}

std::string readable(const fs::path& path) { return ::access(path.c_str(), R_OK) == 0 ? path.string() : std::string(); }

}  // namespace

std::string users_base() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/pounce";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/pounce" : std::string();
}

std::string installations_base(const std::string& programs) { return (fs::path(programs).parent_path() / "lib/pounce").string(); }

std::string helper_folder(const std::string& base, int library_number) {
  return (all_of(base) / ("libslurm.so." + std::to_string(library_number))).string();
}

std::string find_helper(const std::string& programs) {
  for (const std::string& base : {users_base(), installations_base(programs)})
    if (!base.empty())
      if (std::string built = newest_in(base); !built.empty()) return built;
  return (fs::path(programs) / kHelperName).string();
}

std::string full_library_for(const std::string& helper) {
  const fs::path folder = fs::path(helper).parent_path();
  std::error_code none;
  if (fs::is_symlink(folder / kLibraryLink, none)) return readable(folder / kFullLibraryLink);
#ifdef POUNCE_LIBSLURMFULL
  return readable(POUNCE_LIBSLURMFULL);
#else
  return {};
#endif
}

}  // namespace pounce::slurm
