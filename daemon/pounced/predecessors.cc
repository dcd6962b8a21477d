#include "pounced/predecessors.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "pounced/file.h"
#include "pounced/journal.h"

namespace pounce::daemon {

using nlohmann::json;

Result<void> write_place(const Folders& folders, const Place& place) {
  const json object = {{"cluster", place.cluster},     {"machine_id", place.machine_id},
                       {"boot_id", place.boot_id},     {"network_namespace", place.network_namespace},
                       {"outer_job", place.outer_job}, {"state_folder", place.state_folder}};
  return replace_file(folders.place(), object.dump() + "\n");
}

std::optional<Place> read_place(const std::string& path) {
  try {
    const json object = json::parse(read_own_file(path).value_or(""));
    return Place{object.at("cluster"),           object.at("machine_id"), object.at("boot_id"),
                 object.at("network_namespace"), object.at("outer_job"),  object.at("state_folder")};
  } catch (const json::exception&) {
    return std::nullopt;  // no place file, or not one of this version: nothing that we could take over
  }
}

std::vector<Predecessor> take_over_predecessors(const Folders& ours, const Place& now) {
  std::vector<Predecessor> found;
  std::error_code trouble;  // what cannot be read or removed today is looked at again at the next start
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ours.state).parent_path(), trouble)) {
    const Folders folders{entry.path(), ours.runtime};
    const auto place = read_place(folders.place());
    if (!place || !is_predecessor(*place, now)) continue;
    const auto open = open_records(read_journal(folders.journal()).records);
    spdlog::info("predecessor {} of an earlier boot: {} open records", entry.path().filename().string(), open.size());
    if (open.empty())
      std::filesystem::remove_all(entry.path(), trouble);
    else
      found.push_back({instance_id(*place), folders, open});
  }
  return found;
}

}  // namespace pounce::daemon
