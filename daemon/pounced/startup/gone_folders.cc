#include "pounced/startup/gone_folders.h"

#include <algorithm>

#include "base/log.h"
#include "pounced/leases/utilisation_log.h"
#include "pounced/startup/previous_instances.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/file.h"
#include "pounced/storage/journal.h"
#include "pounced/storage/line_file.h"

namespace pounce::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kQuiet{24};  // a daemon that lives touches its lock each hour
constexpr std::size_t kMost = 1000;       // folders looked at; the rest follow another time
constexpr std::string_view kDying = ".gone-";

bool is_instance(const std::string& name) { return InstanceId::from_hex(name).has_value(); }

// Skips entries that cannot be read; they are read another time.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code trouble;
  for (fs::directory_iterator at(folder, trouble), end; !trouble && at != end && entries.size() < kMost; at.increment(trouble))
    entries.push_back(*at);
  return entries;
}

// Other instances' folders, and the remains of those whose removal was cut short.
std::vector<fs::path> others_of(const Folders& ours) {
  std::vector<fs::path> found;
  const fs::path own = ours.state;
  for (const auto& entry : entries_of(own.parent_path())) {
    const std::string name = entry.path().filename();
    if (entry.path() != own && (is_instance(name) || name.starts_with(kDying))) found.push_back(entry.path());
  }
  return found;
}

std::chrono::seconds quiet_since(const fs::path& folder, fs::file_time_type now) {
  std::error_code trouble;
  fs::file_time_type last = fs::last_write_time(folder, trouble);
  for (const auto& entry : entries_of(folder)) {
    if (trouble) return {};
    last = std::max(last, entry.last_write_time(trouble));
  }
  return trouble ? std::chrono::seconds{} : std::chrono::duration_cast<std::chrono::seconds>(now - last);
}

bool has_open_leases(const Folders& folders) {
  const JournalContent content = read_journal(folders.journal());
  return content.damaged_bytes > 0 || !open_records(content.records).empty();
}

FolderFacts facts_of(const fs::path& folder, fs::file_time_type now) {
  const Folders folders{folder, {}};
  FolderFacts facts;
  facts.place = read_place(folders.place());
  const auto owner = StartLock::holder(folders.lock());
  facts.runs = owner ? runs(*owner) : false;
  facts.open_leases = has_open_leases(folders);
  facts.quiet = quiet_since(folder, now);
  return facts;
}

// Keeps the leases' use beyond the folder's removal, for `pouncectl usage`. False: it could not be kept.
bool keep_usage(const Folders& gone, const Folders& ours) {
  for (const std::string& path : {gone.usage() + ".1", gone.usage()}) {
    const std::string lines = read_own_file(path, kMostLinesBytes).value_or("");
    if (!lines.empty() && !append_lines(ours.usage_of_gone(), lines, UtilisationLog::kMostBytes)) return false;
    std::error_code trouble;
    fs::remove(path, trouble);  // else it would be counted twice
  }
  return true;
}

}  // namespace

FolderState state_of(const FolderFacts& facts, const Place& here) {
  if (!facts.place || facts.place->cluster != here.cluster || facts.place->state_folder != here.state_folder)
    return FolderState::kUnknown;
  const bool same_boot = facts.place->boot_id == here.boot_id;
  const bool same_machine = !here.machine_id.empty() && facts.place->machine_id == here.machine_id;
  if (!same_boot && !same_machine) return facts.quiet < kQuiet ? FolderState::kMayRun : FolderState::kElsewhere;
  if (facts.runs != false) return FolderState::kMayRun;
  if (facts.open_leases) return FolderState::kOpenLeases;
  return facts.quiet < kQuiet ? FolderState::kFresh : FolderState::kGone;
}

std::map<std::string, FolderState> look_at_others(const Folders& ours, const Place& here) {
  std::map<std::string, FolderState> found;
  for (const fs::path& folder : others_of(ours))
    if (is_instance(folder.filename()))
      found[folder.filename()] = state_of(facts_of(folder, fs::file_time_type::clock::now()), here);
  return found;
}

GoneFolders::GoneFolders(const Folders& ours, Place here) : ours_(ours), here_(std::move(here)), left_(others_of(ours)) {}

bool GoneFolders::step() {
  if (left_.empty()) return false;
  const fs::path folder = std::move(left_.back());
  left_.pop_back();
  std::error_code trouble;
  const auto now = fs::last_write_time(ours_.place(), trouble);
  if (trouble) return true;
  if (!is_instance(folder.filename()))
    fs::remove_all(folder, trouble);
  else if (state_of(facts_of(folder, now), here_) == FolderState::kGone)
    remove(folder);
  return true;
}

// Holds the folder's start lock, so that no daemon begins there meanwhile. Renames the folder first, because removing
// it takes a while.
void GoneFolders::remove(const fs::path& folder) {
  const Folders gone{folder, fs::path(ours_.runtime).parent_path() / folder.filename()};
  const auto lock = StartLock::take(gone.lock());
  if (!lock || !*lock || has_open_leases(gone) || !keep_usage(gone, ours_)) return;
  const fs::path dying = folder.parent_path() / (std::string(kDying) + folder.filename().string());
  std::error_code trouble;
  fs::rename(folder, dying, trouble);
  if (trouble) return;
  fs::remove_all(dying, trouble);
  fs::remove_all(gone.runtime, trouble);
  spdlog::info("state folder {} of a daemon that is gone: removed{}", folder.filename().string(),
               trouble ? " in part: " + trouble.message() : "");
}

}  // namespace pounce::daemon
