// The doctor about this machine: programs, Python, folders, clock.

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_io.h"
#include "pounce/error.h"
#include "pounce/version.h"
#include "pouncectl/doctor/doctor.h"
#include "pouncectl/policy/policy_commands.h"
#include "pouncectl/python.h"
#include "pouncectl/queries.h"
#include "slurm/helper_process.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kReinstall[] = "Install them together: python -m pip install --force-reinstall pounce-hpc";
constexpr std::uint64_t kLeastFreeMib = 64;
constexpr std::size_t kLongestSocketPath = 107;
constexpr double kClockSlack_s = 60;
constexpr std::ptrdiff_t kManyFolders = 10;  // a user of several machines has a few

bool on_network(const fs::path& path) {
  constexpr std::array<unsigned long, 5> kNetwork{0x6969, 0x517B, 0xFF534D42, 0xFE534D42,
                                                  0x0BD00BD0};  // NFS, SMB, CIFS, SMB2, Lustre
  struct statfs facts{};
  if (::statfs(path.c_str(), &facts) != 0) return false;
  return std::ranges::find(kNetwork, static_cast<unsigned long>(facts.f_type)) != kNetwork.end();
}

std::ptrdiff_t words_in(const std::string& text) { return std::ranges::count(text, ' '); }  // a space follows each word

std::uint64_t free_mib(const fs::path& path) {
  struct statfs facts{};
  if (::statfs(path.c_str(), &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize) / (1024 * 1024);
}

}  // namespace

Finding check_programs(const Facts&) {
  std::string found;
  for (const char* name : {"pounced", "pounce-worker"}) {
    const std::string path = sibling(name);
    if (::access(path.c_str(), X_OK) != 0) return wrong(path + " is not there", kReinstall);
    const std::string said = output_of({path, "--version"});
    if (said.find(kVersion) == std::string::npos)
      return wrong(path + " is of another version: " + said.substr(0, said.find('\n')) + ", and pouncectl " + kVersion,
                   kReinstall);
    found += std::string(name) + ", ";
  }
  const fs::path helper = slurm::find_helper(own_folder());
  const bool slurm = ::access(helper.c_str(), X_OK) == 0, beside = helper.parent_path() == own_folder();
  return fine("pouncectl, " + found + (slurm ? "pounce-slurm: " : "no pounce-slurm: ") + kVersion + ", in " +
                  own_folder() + (slurm && !beside ? "; pounce-slurm in " + helper.parent_path().string() : ""),
              {{"pounce_slurm", slurm ? "there" : ""}});
}

Finding check_python(const Facts& facts) {
  const std::string python = python_of(fact(facts, "python"));
  const std::string install = python + " -m pip install pounce-hpc";
  const auto report = python_report(python);
  if (!report.is_object())
    return wrong("there is no Python " + python + ", or it cannot start",
                 "Name the one of your notebooks: pouncectl doctor --python PATH");
  const std::string file = report.value("file", ""), version = report.value("version", "");
  if (file.empty()) return wrong(python + " has no pounce: " + report.value("trouble", ""), install);
  const std::string trouble = report.value("trouble", ""), ours = report.value("ours", "");
  if (!trouble.empty() && file != ours)
    return wrong(file + " is another pounce than pounce-hpc",
                 ours.empty() ? python + " -m pip uninstall pounce, then: " + install : "Rename or remove " + file);
  if (!trouble.empty()) return wrong(file + " cannot be used: " + trouble, install + " --force-reinstall");
  if (version != kVersion)
    return wrong(file + " is of version " + version + ", and pouncectl of " + kVersion, install + "==" + kVersion);
  return fine("pounce-hpc " + version + " in " + python + " (Python " + report.value("python", "") + ")");
}

// Reads the configuration that pounced would start with, for the later checks.
Finding check_configuration(const Facts&) {
  const auto where = json::parse(output_of({sibling("pounced"), "where", "--folders"}), nullptr, false);
  if (!where.is_object()) return wrong("pounced could not be asked what it would use", kReinstall);
  Facts facts;
  for (const auto& [name, value] : where.items())
    if (value.is_string()) facts[name] = value.get<std::string>();
  if (where.contains("error")) {
    const auto& error = where["error"];
    const std::string remedy = error.value("remedy", "");
    const ErrorCode code = error_code_from_wire(error.value("code", ""));
    facts["error"] = error.value("code", "");
    return wrong(error.value("text", ""), remedy.empty() ? std::string(default_remedy(code)) : remedy, facts);
  }
  const std::string file = facts["config"].empty() ? "defaults, no file" : facts["config"];
  return fine(file + "; work runs " +
                  (facts["launcher"] == "slurm" ? "in Slurm, cluster " + facts["cluster"] : "on this machine"),
              facts);
}

// A running daemon keeps the last valid policy.
Finding check_policy(const Facts& facts) {
  const std::string path = fact(facts, "policy");
  if (fact(facts, "launcher") == "local") return fine("none: work runs on this machine");
  if (path.empty()) return fine("no policy file: the classes are Slurm's QoS");
  const auto policy = read_trusted_policy(path);
  if (!policy) return wrong(policy.error().text, std::string(policy.error().advice()));
  return fine(path + ", " + std::to_string(policy->classes.size()) +
              (policy->classes.size() == 1 ? " class" : " classes"));
}

Finding check_state_folder(const Facts& facts) {
  const bool known = !fact(facts, "state_folder").empty();
  const fs::path folder = known ? fact(facts, "state_folder") : fact(facts, "state_base");
  if (folder.empty()) return note("not known while pounced cannot be asked");
  const fs::path there = nearest_existing(folder);
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return wrong(there.string() + " cannot be written to: " + std::strerror(errno),
                 "chmod u+rwx " + there.string() + ", or set state_folder in the configuration");
  if (const WriteProbe written = probe_writing(there); !written.trouble.empty())
    return wrong("nothing can be written in " + there.string() + ": " + written.trouble,
                 "Make room there (quota?), or set state_folder in the configuration");
  if (const auto mib = free_mib(there); mib < kLeastFreeMib)
    return wrong("only " + std::to_string(mib) + " MiB are free in " + there.string(),
                 "Make room there, or set state_folder in the configuration");
  return fine(folder.string() + (on_network(there) ? " (a network file system, which is fine)" : ""),
              {{"probe_folder", there.string()}});
}

// Each boot and each notebook job has its own folder; pounced removes those that are certainly unused.
Finding check_old_folders(const Facts& facts) {
  if (fact(facts, "state_folder").empty()) return note("not known while the configuration is wrong");
  const std::string elsewhere = fact(facts, "folders_elsewhere"), open = fact(facts, "folders_open");
  const auto gone = words_in(fact(facts, "folders_gone"));
  const std::string text = std::to_string(gone) +
                           " of daemons that are gone (a day later the next pounced that starts here removes them), " +
                           std::to_string(words_in(elsewhere)) + " of other machines, " +
                           std::to_string(words_in(open)) + " with leases whose end nobody has seen";
  if (gone + words_in(elsewhere) + words_in(open) == 0) return fine("none of other daemons");
  if (words_in(elsewhere) + words_in(open) < kManyFolders) return fine(text);
  Finding finding = note(text);
  finding.fix = "Once no notebook of yours runs there and `squeue --me` shows no job of pounce: cd " +
                fs::path(fact(facts, "state_folder")).parent_path().string() + " && rm -r " + elsewhere + open;
  finding.fix.pop_back();
  return finding;
}

Finding check_runtime_folder(const Facts& facts) {
  const fs::path folder = fact(facts, "runtime_folder");
  if (folder.empty()) return note("not known while the configuration is wrong");
  const fs::path there = nearest_existing(folder);
  struct stat is{};
  const fs::path own = folder.parent_path();  // only this user's; /tmp above it is shared
  if (::lstat(own.c_str(), &is) == 0 && (!S_ISDIR(is.st_mode) || is.st_uid != ::geteuid()))
    return wrong(own.string() + " is not a folder of yours",
                 "Have it removed, or set XDG_RUNTIME_DIR to a folder of your own");
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return wrong(there.string() + " cannot be written to: " + std::strerror(errno),
                 "Set XDG_RUNTIME_DIR to a folder of your own");
  if (on_network(there))
    return wrong(there.string() + " is on a network file system, where sockets do not work",
                 "unset XDG_RUNTIME_DIR: /tmp is used then");
  if (folder.string().size() + std::strlen("/handshake") > kLongestSocketPath)
    return wrong(folder.string() + " is too long for a socket", "unset XDG_RUNTIME_DIR: /tmp is used then");
  const char* xdg = std::getenv("XDG_RUNTIME_DIR");
  const bool passed_over = xdg != nullptr && *xdg && !folder.string().starts_with(xdg);
  return fine(folder.string() + (passed_over ? " (XDG_RUNTIME_DIR is not usable)" : ""));
}

// Where clocks differ, credentials are refused and ages are wrong. The file server's is the only other clock at hand.
Finding check_clock(const Facts& facts) {
  const WriteProbe written = probe_writing(fact(facts, "probe_folder"));
  const double apart = static_cast<double>(std::time(nullptr)) - written.stamp_s;
  if (written.trouble.empty() && std::abs(apart) > kClockSlack_s)
    return wrong("this clock and the file server's differ by " + std::to_string(static_cast<long>(apart)) + " s",
                 "Ask the admin to set this machine's clock (chronyd or ntpd).");
  struct timex kernel{};
  if (::adjtimex(&kernel) == TIME_ERROR)
    return note("the kernel does not say that this clock is kept right (chronyd or ntpd)");
  return fine("kept right");
}

}  // namespace pounce::ctl
