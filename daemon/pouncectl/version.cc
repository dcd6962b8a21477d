// pouncectl version: the versions of pounce and of all its libraries. Python reports the library for bulk data that
// it has loaded, and pounce-slurm reports libslurm.
#include "pounce/version.h"

#include <gnu/libc-version.h>

#include <nlohmann/json.hpp>

#include "identity/proof.h"
#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/python.h"
#include "pouncectl/queries.h"
#include "slurm/helper_process.h"
#include "transport/zmq_context.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

json versions(const std::string& python_named) {
  const std::string python = python_of(python_named);
  const json of_python = python_report(python);
  const auto said = [&](const char* key) { return of_python.is_object() ? of_python.value(key, "") : std::string(); };
  const auto libslurm = ask_slurm(slurm::AskVersion{});
  json document = {{"pounce", kVersion},
                   {"protocol", kProtocolVersion},
                   {"libzmq", transport::library_version()},
                   {"libsodium", identity::library_version()},
                   {"libmunge", identity::munge_library()},
                   {"openssl", said("openssl")},
                   {"glibc", ::gnu_get_libc_version()},
                   {"python", {{"program", python}, {"version", said("python")}, {"pounce", said("version")}}},
                   {"cloudpickle", said("cloudpickle")},
                   {"pounce_slurm", slurm::find_helper(own_folder())},
                   {"libslurm", nullptr}};
  if (libslurm)
    document["libslurm"] = *libslurm;
  else
    document["libslurm_error"] = libslurm.error().text;
  return document;
}

std::string word(const json& document, const char* key, const char* absent) {
  const std::string text = document[key].is_string() ? document[key].get<std::string>() : std::string();
  return text.empty() ? absent : text;
}

std::string python_words(const json& python) {
  const std::string version = word(python, "version", ""), pounce = word(python, "pounce", "");
  if (version.empty()) return "none: " + word(python, "program", "") + " does not answer";
  return version + ", " + word(python, "program", "") +
         (pounce.empty() ? " (no pounce in it)" : " (pounce " + pounce + ")");
}

}  // namespace

int version(const std::string& python, bool json_wanted) {
  const json document = versions(python);
  if (json_wanted) return print_json(document), kOk;
  print_line("pounce        " + word(document, "pounce", ""));
  print_line("protocol      " + std::to_string(kProtocolVersion));
  print_line("libzmq        " + word(document, "libzmq", ""));
  print_line("libsodium     " + word(document, "libsodium", ""));
  print_line("libmunge      " + word(document, "libmunge", ""));
  print_line("OpenSSL       " + word(document, "openssl", "none: bulk data takes ZeroMQ"));
  print_line("glibc         " + word(document, "glibc", ""));
  print_line("Python        " + python_words(document["python"]));
  print_line("cloudpickle   " + word(document, "cloudpickle", "none"));
  print_line("libslurm      " + (document.contains("libslurm_error") ? "none: " + word(document, "libslurm_error", "")
                                                                     : word(document, "libslurm", "")));
  if (!document.contains("libslurm_error")) print_line("pounce-slurm  " + word(document, "pounce_slurm", ""));
  return kOk;
}

}  // namespace pounce::ctl
