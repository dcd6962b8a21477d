#include "pounced/startup/slurm_conf.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace pounce::daemon {
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

}  // namespace pounce::daemon
