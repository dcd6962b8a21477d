#include "pouncectl/helper_build.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "base/random_id.h"
#include "base/write_probe.h"
#include "pounce/ids.h"
#include "pouncectl/program.h"
#include "slurm/helper_program.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;

constexpr char kScript[] = "build";

bool can_be_written(const fs::path& folder) { return ::access(nearest_existing(folder).c_str(), W_OK | X_OK) == 0; }

// The first line with an error of the compiler; the log has the whole output.
std::string first_error(const std::string& output) {
  const auto at = output.find("error");
  if (at == std::string::npos) return output.substr(0, output.find('\n'));
  const auto start = output.rfind('\n', at) + 1;  // npos + 1 is 0
  return output.substr(start, output.find('\n', at) - start);
}

fs::path full_library_beside(const fs::path& library) {
  for (const char* name : {"slurm-wlm/libslurmfull.so", "slurm/libslurmfull.so", "libslurmfull.so"})
    if (const fs::path full = library.parent_path() / name; ::access(full.c_str(), R_OK) == 0) return full;
  return {};
}

Result<void> compile(const HelperBuild& build, const fs::path& into) {
  const std::string program = (into / slurm::kHelperName).string();
  auto done = pounce::output_of({.command = {"/bin/sh", (fs::path(build.sources) / kScript).string(), program, build.compiler,
                                     build.headers.folder, build.library.path}},
                        true);
  if (!done) return failure(done.error());
  if (done->wait_status == 0 && ::access(program.c_str(), X_OK) == 0) return {};
  const fs::path log = into.string() + ".log";
  std::ofstream(log) << done->output;
  return failure(ErrorCode::kBadRequest, "pounce-slurm could not be built with " + build.compiler + ": " + first_error(done->output),
                 "The whole output is in " + log.string() + "; the compiler must know C++20 (GCC 11 or newer): CXX=PATH pouncectl setup.");
}

void put_links(const HelperBuild& build, const fs::path& folder) {
  fs::create_symlink(build.library.path, folder / slurm::kLibraryLink);
  if (const fs::path full = full_library_beside(build.library.path); !full.empty())
    fs::create_symlink(full, folder / slurm::kFullLibraryLink);
}

// Moves the old folder away first: rename does not replace a folder that has files.
void replace_folder(const fs::path& fresh, const fs::path& folder) {
  const fs::path old = fresh.string() + ".old";
  std::error_code absent;
  fs::rename(folder, old, absent);
  fs::rename(fresh, folder);
  fs::remove_all(old, absent);
}

}  // namespace

std::string helper_sources() {
  const fs::path folder = fs::path(own_folder()).parent_path() / "share/pounce/pounce-slurm";
  return ::access((folder / kScript).c_str(), R_OK) == 0 ? folder.string() : std::string();
}

Result<std::string> base_to_build_in(bool own) {
  const std::string installation = slurm::installations_base(own_folder()), users = slurm::users_base();
  if (!own && can_be_written(installation)) return installation;
  if (!users.empty() && can_be_written(users)) return users;
  return failure(ErrorCode::kBadRequest, "neither " + installation + " nor " + (users.empty() ? "a home" : users) + " can be written to",
                 "Set HOME or XDG_DATA_HOME to a folder of your own.");
}

Result<void> build_helper(const HelperBuild& build) {
  const fs::path fresh = build.folder + "." + random_id<InstanceId>().hex();
  try {
    fs::create_directories(fresh);
    if (const auto compiled = compile(build, fresh); !compiled) {
      fs::remove_all(fresh);
      return failure(compiled.error());
    }
    put_links(build, fresh);
    replace_folder(fresh, build.folder);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return failure(ErrorCode::kBadRequest, error.path1().string() + " cannot be written: " + error.code().message(), "Make room there, or write access.");
  }
  return {};
}

}  // namespace pounce::ctl
