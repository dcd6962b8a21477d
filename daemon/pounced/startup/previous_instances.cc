#include "pounced/startup/previous_instances.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "pounced/storage/file.h"
#include "pounced/storage/journal.h"

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

namespace {

// The previous instance's records, without the leases that it or we have seen end.
std::vector<lease::JournalRecord> still_open(std::vector<lease::JournalRecord> records,
                                             const std::vector<lease::JournalRecord>& own) {
  for (const lease::JournalRecord& record : own)
    if (record.kind == lease::JournalRecord::Kind::kEnded) records.push_back(record);
  return open_records(records);
}

void close_journal(const Folders& folders) {
  if (!Journal::open(folders.journal(), {}))
    spdlog::warn("{} cannot be written: its leases are looked for again at the next start", folders.journal());
}

}  // namespace

std::vector<PreviousInstance> take_over_previous_instances(const Folders& ours, const Place& now,
                                                const std::vector<lease::JournalRecord>& own) {
  std::vector<PreviousInstance> found;
  std::error_code trouble;  // what cannot be read today is looked at again at the next start
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ours.state).parent_path(), trouble)) {
    const Folders folders{entry.path(), ours.runtime};
    const auto place = read_place(folders.place());
    if (!place || !is_previous_instance(*place, now)) continue;
    const JournalContent journal = read_journal(folders.journal());
    if (open_records(journal.records).empty()) continue;
    const auto open = still_open(journal.records, own);
    spdlog::info("previous instance {} of an earlier boot: {} open records", entry.path().filename().string(), open.size());
    if (!open.empty())
      found.push_back({instance_id(*place), folders, open});
    else if (journal.damaged_bytes == 0)
      close_journal(folders);
  }
  return found;
}

}  // namespace pounce::daemon
