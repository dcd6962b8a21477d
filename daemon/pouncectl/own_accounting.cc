#include "pouncectl/own_accounting.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/bounded_file.h"
#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kFileBytes = 64 << 20;  // per file of leases; pounced keeps them far smaller
using nlohmann::json;

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

// The records of all of this user's daemons of that cluster: <base>/<cluster>/<instance>/usage, and
// <base>/<cluster>/usage for daemons whose folders were removed.
std::vector<fs::path> records(const std::string& cluster) {
  std::vector<fs::path> files;
  const json where = json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object()) return files;
  const fs::path own = where.value("state_folder", "");
  const fs::path base = own.empty() ? fs::path(where.value("state_base", "")) / cluster : own.parent_path();
  std::error_code failed;
  const auto add = [&](const fs::path& folder) {
    for (const char* name : {"usage.1", "usage"})  // oldest first
      if (fs::is_regular_file(folder / name, failed)) files.push_back(folder / name);
  };
  add(base);
  for (const auto& instance : fs::directory_iterator(base, failed)) add(instance.path());
  return files;
}

}  // namespace

// Counts only the part of a lease that lies within the span.
UsedShare share_of(const std::string& line, const std::string& user, std::int64_t from_s, std::int64_t to_s) {
  UsedShare share;
  const auto one = model::parse<model::EndedLease>(line);
  if (!one) return share;
  const Resources& resources = one->resources;
  const auto seconds = [](std::int64_t ms) { return static_cast<double>(ms) / 1000; };
  const double busy = seconds(one->used.figures.busy_ms), held = busy + seconds(one->used.figures.idle_ms);
  const auto end = static_cast<double>(one->end_s);
  const double workers = std::max(resources.workers, 1u);
  const double within = std::min(end, static_cast<double>(to_s)) - std::max(end - held, static_cast<double>(from_s));
  if (held <= 0 || within <= 0) return share;
  share.user = user;
  share.class_name = resources.class_name;
  share.mode = one->used.figures.held ? kReservation : kOffload;
  share.jobs = 1;
  share.gpu_s = share.told_s = within * resources.gpus * workers;
  share.busy_s = share.gpu_s * busy / held;
  share.cpu_s = within * std::max(resources.cpus, 1u) * workers;
  return share;
}

std::vector<UsedShare> own_usage(const std::string& cluster, std::int64_t from_s, std::int64_t to_s) {
  std::vector<UsedShare> shares;
  const std::string user = user_name();
  for (const fs::path& path : records(cluster)) {
    std::istringstream file(read_end(path, kFileBytes));
    for (std::string line; std::getline(file, line);)
      if (UsedShare share = share_of(line, user, from_s, to_s); share.jobs > 0) shares.push_back(std::move(share));
  }
  return shares;
}

}  // namespace pounce::ctl
