// Which pounced this is, the instances of earlier boots, and the folders of instances that are gone.

#include "pounced/startup/instance.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/process.h"
#include "identity/proof.h"
#include "job/inside_job.h"
#include "pounced/leases/lease_logs.h"
#include "pounced/startup/start_lock.h"
#include "pounced/storage/file.h"
#include "pounced/storage/journal.h"

extern char** environ;

namespace pounce::daemon {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

std::uint32_t outer_job_from_environment() { return job::outer_job(environment_of(environ)); }

Result<InstanceScope> scope_here(const std::string& cluster, std::uint32_t outer_job) {
  InstanceScope scope;
  scope.cluster = cluster;
  scope.machine_id = first_line("/etc/machine-id");  // empty in some containers: boot and namespace tell them apart
  scope.boot_id = boot_id();
  scope.outer_job = outer_job;
  struct stat facts{};
  if (::stat("/proc/self/ns/net", &facts) != 0 || scope.boot_id.empty())
    return failure(ErrorCode::kInternal, "pounced cannot tell where it runs: /proc is not readable");
  scope.network_namespace = facts.st_ino;
  return scope;
}

InstanceId instance_id(const InstanceScope& scope) {
  std::vector<std::string> parts = {"pounce instance 1",
                                    scope.cluster,
                                    scope.machine_id,
                                    scope.boot_id,
                                    std::to_string(scope.network_namespace),
                                    std::to_string(scope.outer_job)};
  if (!scope.state_folder.empty()) parts.push_back(scope.state_folder);
  const auto digest = identity::digest_of(parts);
  std::array<std::uint8_t, InstanceId::kBytes> bytes;
  std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  return InstanceId(bytes);
}

bool is_previous_instance(const InstanceScope& older, const InstanceScope& now) {
  InstanceScope same = older;
  same.boot_id = now.boot_id;
  return same == now && older.boot_id != now.boot_id;
}

using nlohmann::json;

Result<void> write_scope(const Folders& folders, const InstanceScope& scope) {
  const json object = {{"cluster", scope.cluster},     {"machine_id", scope.machine_id},
                       {"boot_id", scope.boot_id},     {"network_namespace", scope.network_namespace},
                       {"outer_job", scope.outer_job}, {"state_folder", scope.state_folder}};
  return replace_file(folders.place(), object.dump() + "\n");
}

std::optional<InstanceScope> read_scope(const std::string& path) {
  try {
    const json object = json::parse(read_own_file(path).value_or(""));
    return InstanceScope{object.at("cluster"),           object.at("machine_id"), object.at("boot_id"),
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

std::vector<PreviousInstance> take_over_previous_instances(const Folders& ours, const InstanceScope& now,
                                                           const std::vector<lease::JournalRecord>& own) {
  std::vector<PreviousInstance> found;
  std::error_code trouble;  // what cannot be read today is looked at again at the next start
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ours.state).parent_path(), trouble)) {
    const Folders folders{entry.path(), ours.runtime};
    const auto scope = read_scope(folders.place());
    if (!scope || !is_previous_instance(*scope, now)) continue;
    const JournalContent journal = read_journal(folders.journal());
    if (open_records(journal.records).empty()) continue;
    const auto open = still_open(journal.records, own);
    spdlog::info("previous instance {} of an earlier boot: {} open records", entry.path().filename().string(),
                 open.size());
    if (!open.empty())
      found.push_back({instance_id(*scope), folders, open});
    else if (journal.damaged_bytes == 0)
      close_journal(folders);
  }
  return found;
}

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
  for (fs::directory_iterator at(folder, trouble), end; !trouble && at != end && entries.size() < kMost;
       at.increment(trouble))
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
  facts.scope = read_scope(folders.place());
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

FolderState state_of(const FolderFacts& facts, const InstanceScope& here) {
  if (!facts.scope || facts.scope->cluster != here.cluster || facts.scope->state_folder != here.state_folder)
    return FolderState::kUnknown;
  const bool same_boot = facts.scope->boot_id == here.boot_id;
  const bool same_machine = !here.machine_id.empty() && facts.scope->machine_id == here.machine_id;
  if (!same_boot && !same_machine) return facts.quiet < kQuiet ? FolderState::kMayRun : FolderState::kElsewhere;
  if (facts.runs != false) return FolderState::kMayRun;
  if (facts.open_leases) return FolderState::kOpenLeases;
  return facts.quiet < kQuiet ? FolderState::kFresh : FolderState::kGone;
}

std::map<std::string, FolderState> look_at_others(const Folders& ours, const InstanceScope& here) {
  std::map<std::string, FolderState> found;
  for (const fs::path& folder : others_of(ours))
    if (is_instance(folder.filename()))
      found[folder.filename()] = state_of(facts_of(folder, fs::file_time_type::clock::now()), here);
  return found;
}

GoneFolders::GoneFolders(const Folders& ours, InstanceScope here)
    : ours_(ours), here_(std::move(here)), left_(others_of(ours)) {}

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
