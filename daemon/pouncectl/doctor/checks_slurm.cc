// The doctor about Slurm and munge. Where there is no Slurm the checks say so: that is a way to use pounce, not a
// fault.

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

#include "base/text.h"
#include "identity/proof.h"
#include "pouncectl/doctor/doctor.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

bool slurm_here(const Facts& facts) { return !fact(facts, "slurm").empty() && fact(facts, "slurm") != "nothing"; }
bool used(const Facts& facts) { return fact(facts, "launcher") != "local" && slurm_here(facts); }

Finding not_used(const Facts& facts) {
  return slurm_here(facts) ? note("not looked at: the configuration says that work runs on this machine")
                           : note("no Slurm here: work runs on this machine");
}

// The munge socket of AuthInfo, read from the file: libslurm tells it only after slurmctld has answered, which needs
// munged.
std::string socket_named_in(const std::string& conf) {
  std::ifstream file(conf);
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    constexpr std::string_view kKey = "authinfo", kSocket = "socket=";
    const bool ours =
        std::ranges::equal(line.substr(0, kKey.size()), kKey, {}, [](unsigned char c) { return std::tolower(c); });
    const auto found = line.find(kSocket);
    if (!ours || found == std::string::npos) continue;
    const std::string rest = line.substr(found + kSocket.size());
    return rest.substr(0, rest.find_first_of(", \t\r"));
  }
  return {};
}

std::string shown(const Error& error) {
  const auto said = error.context.find("stderr");
  std::string text = error.text;
  if (said != error.context.end() && !said->second.empty())
    text += " (" + said->second.substr(0, said->second.find('\n')) + ")";
  return text;
}

// The release that follows `words`, as Slurm writes it, in "slurm 26.05.3" or "… (API 45.0.0, built for 26.5.3)";
// empty: none.
std::string release_behind(std::string_view words, std::string_view text) {
  const auto at = text.find(words);
  int year = 0, month = 0;
  if (at == std::string_view::npos) return {};
  if (std::sscanf(std::string(text.substr(at + words.size())).c_str(), "%d.%d", &year, &month) != 2) return {};
  return std::to_string(year) + (month < 10 ? ".0" : ".") + std::to_string(month);
}

// During a site's update: slurmctld answers libraries of the two or three previous major releases.
Finding of_releases(const std::string& where, const std::string& ours, const std::string& theirs, Facts facts) {
  if (ours.empty() || theirs.empty() || ours == theirs) return fine(where, std::move(facts));
  return note(where + "; pounce-slurm's libslurm is of " + ours +
                  ", and slurmctld speaks its protocol. Run pouncectl rebuild when this machine has Slurm " + theirs,
              std::move(facts));
}

Finding from(const Error& error) { return wrong(shown(error), std::string(error.advice())); }

}  // namespace

Finding check_slurm_conf(const Facts& facts) {
  if (!slurm_here(facts)) return not_used(facts);
  const std::string path = fact(facts, "slurm_conf");
  if (path.empty()) return fine("configless: slurmctld gives it");
  if (::access(path.c_str(), R_OK) != 0)
    return wrong(path + " cannot be read",
                 "Correct or unset SLURM_CONF; where it is right, ask the admin for the file");
  return fine(path, {{"munge_socket", socket_named_in(path)}});
}

Finding check_libslurm(const Facts& facts) {
  if (!used(facts)) return not_used(facts);
  if (fact(facts, "pounce_slurm").empty())
    return wrong("there is no pounce-slurm for the Slurm of this machine", "Build it: pouncectl rebuild");
  const auto loaded = ask_slurm(slurm::AskVersion{});
  return loaded ? fine(*loaded, {{"libslurm", release_behind("built for ", *loaded)}}) : from(loaded.error());
}

Finding check_slurmctld(const Facts& facts) {
  if (!used(facts)) return not_used(facts);
  const auto cluster = ask_slurm(slurm::AskFacts{});
  if (!cluster) return from(cluster.error());
  const std::string classes = joined(cluster->classes, ", ", &ClassLimits::name);
  return of_releases(cluster->version + " at " + cluster->controller_address, fact(facts, "libslurm"),
                     release_behind("slurm ", cluster->version),
                     {{"answered", "yes"},
                      {"associated", cluster->associated ? "yes" : ""},
                      {"classes", classes},
                      {"default_class", cluster->default_class},
                      {"auth_type", cluster->auth_type},
                      {"munge_socket", cluster->munge_socket},
                      {"controller", cluster->controller_address}});
}

Finding check_classes(const Facts& facts) {
  if (!used(facts)) return not_used(facts);
  if (fact(facts, "answered").empty()) return note("not known while slurmctld does not answer");
  const std::string classes = fact(facts, "classes"), user = std::to_string(::geteuid());
  if (fact(facts, "associated").empty())
    return wrong("no class is open to you (uid " + user + "); there are " + classes,
                 "Ask the admin for an account: sacctmgr add user NAME account=ACCOUNT qos=CLASSES");
  if (classes.empty())
    return note(
        "this Slurm has no slurmdbd: no classes (leave class_ unset) and nobody's limits are enforced; a job that "
        "Slurm "
        "forgot cannot be looked up, and `pouncectl usage` knows your own leases only");
  const std::string default_class = fact(facts, "default_class");
  return fine(classes + (default_class.empty() ? "" : " (" + default_class + " where none is named)"));
}

Finding check_munge(const Facts& facts) {
  if (!used(facts)) return not_used(facts);
  const std::string auth = fact(facts, "auth_type"), socket = fact(facts, "munge_socket");
  if (!auth.empty() && auth != "auth/munge")
    return note("this Slurm uses " + auth + ": workers show a key file of your home");
  const identity::Claim claim{{}, {}, "client", "doctor"};
  const auto made = identity::munge_proof(claim, socket, ::geteuid());
  const std::string at = socket.empty() ? "at its usual socket" : "at " + socket;
  if (!made) return wrong(made.error().text, "Ask the admin to start munged (systemctl start munge) " + at);
  const auto read = identity::verify_munge_proof(claim, *made, socket, ::geteuid());
  return read ? fine("answers " + at)
              : wrong(read.error().text, "Ask the admin to restart munged (systemctl restart munge)");
}

}  // namespace pounce::ctl
