#include "pouncectl/state_folder.h"

#include <nlohmann/json.hpp>

#include "pouncectl/program.h"

namespace pounce::ctl {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The state folder below `base` with the newest log, among all instances of all clusters.
fs::path newest_below(const fs::path& base) {
  fs::path newest;
  fs::file_time_type when{};
  std::error_code hidden;  // an unreadable folder has no log for us
  for (const auto& cluster : fs::directory_iterator(base, hidden))
    for (const auto& instance : fs::directory_iterator(cluster, hidden)) {
      const auto written = fs::last_write_time(instance.path() / "pounced.log", hidden);
      if (hidden || (!newest.empty() && written < when)) continue;
      newest = instance.path();
      when = written;
    }
  return newest;
}

}  // namespace

Result<fs::path> state_folder() {
  const json where = json::parse(output_of({sibling("pounced"), "where"}), nullptr, false);
  if (!where.is_object())
    return failure(ErrorCode::kDaemonUnavailable, "pounced could not be asked where its files are");
  const fs::path own = where.value("state_folder", "");
  std::error_code absent;
  if (!own.empty() && fs::exists(own / "pounced.log", absent)) return own;
  const fs::path base = own.empty() ? fs::path(where.value("state_base", "")) : own.parent_path().parent_path();
  const fs::path newest = newest_below(base);
  if (newest.empty())
    return failure(ErrorCode::kDaemonUnavailable, "no pounced has run here: there is no log below " + base.string(),
                   "It is started by the first client.");
  return newest;
}

}  // namespace pounce::ctl
