// pouncectl version: which parts are installed, and which libslurm pounce-slurm really loads.
#include <iostream>
#include <nlohmann/json.hpp>

#include "pounce/version.h"
#include "pouncectl/commands.h"
#include "pouncectl/libslurm.h"
#include "pouncectl/output.h"

namespace pounce::ctl {
int version(bool json) {
  const auto libslurm = ask_slurm(slurm::AskVersion{});
  if (json) {
    nlohmann::json document = {{"pounce", kVersion}, {"protocol", kProtocolVersion}, {"libslurm", nullptr}};
    if (libslurm)
      document["libslurm"] = *libslurm;
    else
      document["libslurm_error"] = libslurm.error().text;
    print_json(document);
  } else {
    std::cout << "pounce    " << kVersion << "\nprotocol  " << kProtocolVersion << "\nlibslurm  "
              << (libslurm ? *libslurm : "none: " + libslurm.error().text) << '\n';
  }
  return kOk;
}

}  // namespace pounce::ctl
