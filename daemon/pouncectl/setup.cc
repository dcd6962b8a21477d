// pouncectl setup: finds or builds a pounce-slurm for this machine's Slurm, then runs the doctor.
// pouncectl rebuild: always builds it, and runs no doctor.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pounce/version.h"
#include "pouncectl/commands.h"
#include "pouncectl/doctor_report.h"
#include "pouncectl/error_report.h"
#include "pouncectl/helper_build.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"
#include "pouncectl/program.h"
#include "slurm/helper_program.h"

namespace pounce::ctl {
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
  if (!options.rebuild && number_that_answers() == library->number) return Outcome{*library, slurm::find_helper(own_folder())};
  const auto build = plan(options, *library);
  if (!build) return failure(build.error());
  if (!json_wanted)
    print_line("building pounce-slurm for " + library->path + " with " + build->compiler + " and the headers in " +
               build->headers.folder + " (Slurm " + build->headers.release + "): a minute or two …"), std::cout.flush();
  if (const auto built = build_helper(*build); !built) return failure(built.error());
  if (number_that_answers() == library->number) return Outcome{*library, slurm::find_helper(own_folder()), true};
  return failure(ErrorCode::kVersionMismatch, "what was built in " + build->folder + " does not load " + library->path,
                 "Show the admin: " + build->folder + "/pounce-slurm");
}

void tell(const Outcome& done) { print_line((done.built ? "built  " : "found  ") + done.helper + " for " + done.library.path); }

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
