// What must be known before a start: the sibling programs, Slurm's configuration, the launcher, the instance, its
// files.

#include "pounced/startup/setup.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pounced/leases/site_policy.h"
#include "pounced/net/endpoint.h"
#include "slurm/helper_process.h"

namespace pounce::daemon {

std::string this_program() {
  std::error_code no_proc;  // then the bare name: exec fails with a clear error
  return std::filesystem::read_symlink("/proc/self/exe", no_proc).string();
}

std::string beside_this_program(const std::string& name) {
  return (std::filesystem::path(this_program()).parent_path() / name).string();
}

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

std::string included_path(const std::string& line, const std::string& conf) {
  const std::filesystem::path named = trimmed(line.substr(std::string("include").size()));
  return named.is_absolute() ? named.string() : (std::filesystem::path(conf).parent_path() / named).string();
}

void take_key(const std::string& line, SlurmConf& conf) {
  const auto equals = line.find('=');
  if (equals == std::string::npos) return;
  const std::string key = lower(trimmed(line.substr(0, equals))), value = trimmed(line.substr(equals + 1));
  if (key == "clustername") conf.cluster = lower(value);  // slurmctld lowers it too
  if (key == "slurmuser") conf.slurm_user = value.substr(0, value.find('('));
}

bool read_into(const std::string& path, SlurmConf& conf, int depth) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) return false;
  for (std::string line; std::getline(file, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    const std::string start = lower(line.substr(0, 8));
    if (start == "include " || start == "include\t") {
      // A file that cannot be read is libslurm's to complain about: it knows which ones matter.
      if (depth == 0) read_into(included_path(line, path), conf, depth + 1);
    } else {
      take_key(line, conf);
    }
  }
  return true;
}

}  // namespace

SlurmSource find_slurm(const SlurmPlaces& places) {
  std::error_code unreadable;  // what we may not look at is not there for us
  const char* named = std::getenv("SLURM_CONF");
  if (named != nullptr && *named) return {SlurmFound::kFile, named};
  if (std::filesystem::exists(places.default_conf, unreadable)) return {SlurmFound::kFile, places.default_conf};
  const std::string cached = places.configless_folder + "/slurm.conf";
  if (std::filesystem::exists(cached, unreadable)) return {SlurmFound::kFile, cached};
  const char* server = std::getenv("SLURM_CONF_SERVER");
  const bool served = server != nullptr && *server;
  if (served || std::filesystem::exists(places.configless_folder, unreadable)) return {SlurmFound::kConfigless, {}};
  return {};
}

Result<SlurmConf> read_slurm_conf(const std::string& path) {
  SlurmConf conf;
  if (!read_into(path, conf, 0)) return failure(ErrorCode::kSlurmConfig, path + " cannot be read");
  if (conf.cluster.empty()) return failure(ErrorCode::kSlurmConfig, path + " has no ClusterName");
  return conf;
}

namespace {

constexpr char kNoSlurmHere[] = "no Slurm on this machine: pounce runs your work here, as processes of this machine";

Result<LauncherKind> choose_launcher(const CommandLine& command, Setup& setup) {
  if (!command.launcher.empty()) {
    if (const auto kind = words(LauncherKind{}).from(command.launcher)) return *kind;
    return failure(ErrorCode::kBadRequest, "the launchers are slurm and local, not \"" + command.launcher + "\"");
  }
  if (setup.config.launcher) return *setup.config.launcher;
  if (setup.slurm.found != SlurmFound::kNothing) return LauncherKind::kSlurm;
  setup.notice = kNoSlurmHere;
  return LauncherKind::kLocal;
}

Result<std::string> name_cluster(Setup& setup) {
  if (setup.launcher == LauncherKind::kLocal) return std::string("local");
  if (setup.slurm.found == SlurmFound::kNothing)
    return failure(ErrorCode::kNoSlurm, "there is no slurm.conf on this machine and SLURM_CONF is not set");
  if (setup.slurm.found == SlurmFound::kConfigless) {
    if (const auto allowed = may_use_slurm(::geteuid(), "root"); !allowed) return failure(allowed.error());
    const auto facts = ask_facts(setup.config);
    if (!facts) return failure(facts.error());
    return facts->cluster;
  }
  const auto conf = read_slurm_conf(setup.slurm.path);
  if (!conf) return failure(conf.error());
  if (const auto allowed = may_use_slurm(::geteuid(), conf->slurm_user); !allowed) return failure(allowed.error());
  return conf->cluster;
}

// A cluster's name becomes a folder's name.
bool plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos && name.size() <= 64;
}

void fill_in(Config& config) {
  if (config.pounce_slurm.empty())
    config.pounce_slurm = slurm::find_helper(std::filesystem::path(this_program()).parent_path());
  if (config.pounce_worker.empty()) config.pounce_worker = beside_this_program("pounce-worker");
  if (!config.state_folder.empty()) config.state_folder = std::filesystem::absolute(config.state_folder).string();
}

void settle_in(const std::string& base, Setup& setup) {
  setup.config.state_folder = base;
  setup.scope.state_folder = base == usual_state_folder() ? "" : base;
  setup.instance = instance_id(setup.scope);
  setup.folders = name_folders(base, setup.scope.cluster, setup.instance);
}

// Chooses where nothing is configured. `chosen` is what `ensure` found, so that the daemon it starts uses the same
// folder.
void choose_state_folder(const std::string& chosen, Setup& setup) {
  const auto lives = [&](const std::string& base) {
    settle_in(base, setup);
    if (!chosen.empty()) return chosen == base;
    setup.live = live_endpoint(setup.folders);
    return setup.live.has_value();
  };
  const StateBase base = choose_state_base(default_state_folder(), fallback_state_folder(), lives);
  settle_in(base.path, setup);
  if (!base.fallen_back()) return;
  setup.folders.shared = setup.launcher == LauncherKind::kLocal;
  setup.notice += (setup.notice.empty() ? "" : "; ") + base.trouble + ": pounced keeps its state in " + base.path +
                  ", on this machine alone, and jobs keep no logs";
}

}  // namespace

Result<void> may_use_slurm(unsigned uid, const std::string& slurm_user) {
  const passwd* entry = uid == 0 ? nullptr : ::getpwuid(uid);
  const bool is_slurm_user = entry != nullptr && slurm_user == entry->pw_name;
  if (uid != 0 && !is_slurm_user && slurm_user != std::to_string(uid)) return {};
  return failure(ErrorCode::kRefusesRoot,
                 std::string(uid == 0 ? "root" : "SlurmUser") + " may not lease workers from Slurm");
}

Result<Setup> set_up(const CommandLine& command, const SlurmPlaces& places) {
  Setup setup;
  auto config = load_config(command.config);
  if (!config) return failure(config.error());
  setup.config = std::move(*config);
  fill_in(setup.config);
  setup.slurm = find_slurm(places);
  const auto launcher = choose_launcher(command, setup);
  if (!launcher) return failure(launcher.error());
  setup.launcher = *launcher;
  const auto cluster = name_cluster(setup);
  if (!cluster) return failure(cluster.error());
  if (!plain_name(*cluster)) return failure(ErrorCode::kSlurmConfig, "the cluster's name is not usable: " + *cluster);
  auto scope = scope_here(*cluster, command.outer_job.value_or(outer_job_from_environment()));
  if (!scope) return failure(scope.error());
  setup.scope = std::move(*scope);
  if (setup.config.state_folder.empty())
    choose_state_folder(command.state_folder, setup);
  else
    settle_in(setup.config.state_folder, setup);
  return setup;
}

}  // namespace pounce::daemon
