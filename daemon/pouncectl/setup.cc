// pouncectl setup: a pounce-slurm for the Slurm of this machine, found or built, and then what the doctor says.
// pouncectl rebuild: the building alone, in any case.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file_io.h"
#include "base/process.h"
#include "base/random_id.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "pounce/version.h"
#include "pouncectl/commands.h"
#include "pouncectl/doctor/doctor.h"
#include "pouncectl/output.h"
#include "pouncectl/queries.h"
#include "pouncectl/slurm_site.h"
#include "slurm/helper_process.h"

namespace pounce::ctl {

// Building pounce-slurm from the sources that came with this pounce. Thread: main; blocks for a minute or two.
struct HelperBuild {
  std::string sources;  // contains the script `build`
  std::string folder;   // slurm::helper_folder(); created with the program and its links
  std::string compiler;
  SlurmHeaders headers;
  SlurmLibrary library;
};

// The sources' folder of this installation; empty: it has none.
std::string helper_sources();

// The first base that this user may write; with `own` always the user's own.
Result<std::string> base_to_build_in(bool own);

// Replaces the folder only after the build: a daemon that starts meanwhile finds the old program or the new one.
Result<void> build_helper(const HelperBuild& build);

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
  auto done = pounce::output_of({.command = {"/bin/sh", (fs::path(build.sources) / kScript).string(), program,
                                             build.compiler, build.headers.folder, build.library.path}},
                                true);
  if (!done) return failure(done.error());
  if (done->wait_status == 0 && ::access(program.c_str(), X_OK) == 0) return {};
  const fs::path log = into.string() + ".log";
  std::ofstream(log) << done->output;
  return failure(ErrorCode::kBadRequest,
                 "pounce-slurm could not be built with " + build.compiler + ": " + first_error(done->output),
                 "The whole output is in " + log.string() +
                     "; the compiler must know C++20 (GCC 11 or newer): CXX=PATH pouncectl setup.");
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
  return failure(ErrorCode::kBadRequest,
                 "neither " + installation + " nor " + (users.empty() ? "a home" : users) + " can be written to",
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
    return failure(ErrorCode::kBadRequest, error.path1().string() + " cannot be written: " + error.code().message(),
                   "Make room there, or write access.");
  }
  return {};
}

namespace {

using nlohmann::json;

// "… (API 38.0.0, built for 22.5.8)" -> 38; 0: no pounce-slurm, or it does not load.
int number_that_answers() {
  const auto said = ask_slurm(slurm::AskVersion{});
  constexpr std::string_view kKey = "(API ";
  const auto at = said ? said->find(kKey) : std::string::npos;
  return at == std::string::npos ? 0 : std::atoi(said->c_str() + at + kKey.size());
}

struct Outcome {
  SlurmLibrary library;
  std::string helper;
  bool built = false;
};

Result<HelperBuild> plan(const SetupOptions& options, const SlurmLibrary& library) {
  HelperBuild build;
  build.sources = helper_sources();
  build.library = library;
  if (build.sources.empty())
    return failure(ErrorCode::kBadRequest, "the sources of pounce-slurm did not come with this pouncectl",
                   "Install pounce from its wheel: python -m pip install --force-reinstall pounce-hpc");
  auto headers = find_slurm_headers(options.headers, library);
  if (!headers) return failure(headers.error());
  auto compiler = find_compiler();
  if (!compiler) return failure(compiler.error());
  const auto base = base_to_build_in(options.own);
  if (!base) return failure(base.error());
  build.headers = std::move(*headers);
  build.compiler = std::move(*compiler);
  build.folder = slurm::helper_folder(*base, library.number);
  return build;
}

Result<Outcome> find_or_build(const SetupOptions& options, bool json_wanted) {
  auto library = find_slurm_library(options.slurm);
  if (!library) return failure(library.error());
  if (!options.rebuild && number_that_answers() == library->number)
    return Outcome{*library, slurm::find_helper(own_folder())};
  const auto build = plan(options, *library);
  if (!build) return failure(build.error());
  if (!json_wanted)
    print_line("building pounce-slurm for " + library->path + " with " + build->compiler + " and the headers in " +
               build->headers.folder + " (Slurm " + build->headers.release + "): a minute or two …"),
        std::cout.flush();
  if (const auto built = build_helper(*build); !built) return failure(built.error());
  if (number_that_answers() == library->number) return Outcome{*library, slurm::find_helper(own_folder()), true};
  return failure(ErrorCode::kVersionMismatch, "what was built in " + build->folder + " does not load " + library->path,
                 "Show the admin: " + build->folder + "/pounce-slurm");
}

void tell(const Outcome& done) {
  print_line((done.built ? "built  " : "found  ") + done.helper + " for " + done.library.path);
}

json document_of(const Outcome& done) {
  return {{"pounce_slurm", done.helper}, {"libslurm", done.library.path}, {"built", done.built}};
}

}  // namespace

int setup(const SetupOptions& options, bool json_wanted) {
  const auto done = find_or_build(options, json_wanted);
  if (!done) return report(done.error(), json_wanted);
  if (!json_wanted) tell(*done);
  json document = doctor_report(options.python, !json_wanted);
  document["setup"] = document_of(*done);
  if (json_wanted) print_json(document);
  return document["wrong"] == 0 ? kOk : kFailed;
}

int rebuild(SetupOptions options, bool json_wanted) {
  options.rebuild = true;
  const auto done = find_or_build(options, json_wanted);
  if (!done) return report(done.error(), json_wanted);
  if (json_wanted)
    print_json(document_of(*done));
  else
    tell(*done);
  return kOk;
}

}  // namespace pounce::ctl
