// pouncectl usage: what was held, by class, by user and by how it was held, and how much of it computed; and pouncectl
// report: the use of each lease's resources with a suggestion, including leases that ended lately.

#include "pouncectl/usage.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file_io.h"
#include "messages/sentence.h"
#include "model/json.h"
#include "model/status_document.h"
#include "pouncectl/commands.h"
#include "pouncectl/lease_row.h"
#include "pouncectl/queries.h"

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

namespace {

const std::string& key_part(const UsedShare& share, const std::string& by) {
  if (by == "class") return share.class_name;
  return by == "user" ? share.user : share.mode;
}

std::string hours(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  return text;
}

std::string percent(double part, double whole) { return std::to_string(std::lround(100 * part / whole)) + " %"; }

// The busy part of the known GPU time, and the known part if it is not all. "said": reported by jobs, not measured.
std::string busy(const UsedShare& share) {
  if (share.told_s <= 0) return {};
  const std::string words = percent(share.busy_s, share.told_s) + (share.said_s > 0 ? " said" : "");
  return share.told_s < 0.99 * share.gpu_s ? words + " (known of " + percent(share.told_s, share.gpu_s) + ")" : words;
}

void add(UsedShare& sum, const UsedShare& one) {
  sum.jobs += one.jobs;
  sum.gpu_s += one.gpu_s;
  sum.cpu_s += one.cpu_s;
  sum.told_s += one.told_s;
  sum.said_s += one.said_s;
  sum.busy_s += one.busy_s;
}

}  // namespace

std::vector<UsedShare> grouped(const std::vector<UsedShare>& shares, const std::vector<std::string>& by) {
  std::map<std::vector<std::string>, UsedShare> groups;
  for (const UsedShare& share : shares) {
    std::vector<std::string> key;
    for (const std::string& one : by) key.push_back(key_part(share, one));
    UsedShare& group = groups[key];
    group.user = share.user, group.class_name = share.class_name, group.mode = share.mode;
    add(group, share);
  }
  std::vector<UsedShare> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::greater(), &UsedShare::gpu_s);
  return sorted;
}

std::vector<Cells> usage_cells(const std::vector<UsedShare>& shares, const std::vector<std::string>& by) {
  Cells head;
  for (const std::string& one : by) head.push_back(one == "class" ? "CLASS" : one == "user" ? "USER" : "MODE");
  for (const char* name : {"JOBS", "CPU TIME", "GPU TIME", "GPU BUSY"}) head.emplace_back(name);
  std::vector<Cells> cells = {head};
  for (const UsedShare& share : grouped(shares, by)) {
    Cells row;
    for (const std::string& one : by) row.push_back(key_part(share, one));
    row.insert(row.end(), {std::to_string(share.jobs), hours(share.cpu_s), share.gpu_s > 0 ? hours(share.gpu_s) : "",
                           busy(share)});
    cells.push_back(std::move(row));
  }
  return cells;
}

std::string idle_line(const std::vector<UsedShare>& shares) {
  UsedShare leased;
  for (const UsedShare& share : shares)
    if (share.mode == kOffload) add(leased, share);
  if (leased.gpu_s <= 0) return {};
  const std::string line = "pounce leased " + hours(leased.gpu_s) + " of GPU time";
  if (leased.told_s <= 0) return line + "; how much of it was warm but idle is not known";
  std::string known = leased.told_s < 0.99 * leased.gpu_s
                          ? ", as far as it is known (" + percent(leased.told_s, leased.gpu_s) + ")"
                          : "";
  return line + ": " + percent(leased.busy_s, leased.told_s) + " computing, " +
         percent(leased.told_s - leased.busy_s, leased.told_s) + " warm but idle" + known +
         (leased.said_s > 0 ? ", said by the jobs themselves" : "");
}

namespace {

using nlohmann::json;

json as_json(const UsageFacts& facts, const std::vector<std::string>& by) {
  json document = {{"cluster", facts.cluster},
                   {"from_s", facts.from_s},
                   {"to_s", facts.to_s},
                   {"from_slurmdbd", facts.has_database},
                   {"shares", json::array()}};
  for (const UsedShare& share : grouped(facts.shares, by)) {
    json row = {{"jobs", share.jobs},         {"cpu_s", share.cpu_s},
                {"gpu_s", share.gpu_s},       {"gpu_known_s", share.told_s},
                {"gpu_said_s", share.said_s}, {"gpu_busy_s", share.told_s > 0 ? json(share.busy_s) : json()}};
    for (const std::string& one : by)
      row[one] = one == "class" ? share.class_name : one == "user" ? share.user : share.mode;
    document["shares"].push_back(std::move(row));
  }
  return document;
}

// How an admin can complete incomplete figures.
void print_gaps(const UsageFacts& facts) {
  if (!facts.has_database)
    std::cout << "This Slurm has no slurmdbd: only your own leases are known here, from pounce's own records.\n"
                 "With slurmdbd (AccountingStorageType=accounting_storage/slurmdbd) it is everybody's jobs.\n";
  else if (!facts.counts_gpus)
    std::cout
        << "Slurm does not count GPUs here: AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld.\n";
  if (facts.has_database && !facts.keeps_comments)
    std::cout
        << "What pounce's leases did with their time is not kept: AccountingStoreFlags=job_comment in slurm.conf.\n";
  if (facts.has_database && !facts.counts_gpu_use)
    std::cout
        << "How busy the GPUs of other jobs were is not measured here: that needs NVML on the nodes and gres/gpuutil "
           "in AccountingStorageTRES.\n";
}

void print(const UsageFacts& facts, const UsageOptions& options) {
  print_line("Cluster " + facts.cluster + ", the last " + options.since);
  std::cout << (facts.shares.empty() ? "no job held anything\n" : columns(usage_cells(facts.shares, options.by)));
  if (const std::string line = idle_line(facts.shares); !line.empty()) std::cout << line << '\n';
  print_gaps(facts);
}

}  // namespace

int usage(const UsageOptions& options, bool json_wanted) {
  const auto span = seconds_of(options.since);
  if (!span) {
    report(span.error(), json_wanted);
    return kUsage;
  }
  auto facts = ask_slurm(slurm::AskUsage{std::time(nullptr) - *span});
  if (!facts) return report(facts.error(), json_wanted);
  if (!facts->has_database) facts->shares = own_usage(facts->cluster, facts->from_s, facts->to_s);
  if (json_wanted)
    print_json(as_json(*facts, options.by));
  else
    print(*facts, options);
  return kOk;
}

namespace {

// The same row for live and for ended leases.
struct Report {
  std::string lease;
  std::uint32_t job = 0;
  bool ended = false;
  Resources resources;
  model::Used used;

  static constexpr auto fields() {
    return table(field("lease", &Report::lease), field("job", &Report::job), field("ended", &Report::ended),
                 field("asked", &Report::resources), part(&Report::used));
  }
};

std::vector<Report> reports_of(const model::StatusDocument& status) {
  std::vector<Report> reports;
  for (const model::EndedLease& one : status.ended)
    reports.push_back({one.lease, one.job, true, one.resources, one.used});
  for (const model::LeaseRow& one : status.leases)
    if (one.used) reports.push_back({one.lease, one.job, false, one.resources, *one.used});
  return reports;
}

bool is_meant(const Report& one, const std::vector<std::string>& beginnings) {
  return beginnings.empty() ||
         std::ranges::any_of(beginnings, [&](const std::string& begin) { return one.lease.starts_with(begin); });
}

// "71 %, 3 GiB of 80 GiB"; a dash without a driver's report.
std::string of_gpus(const model::JobFigures& figures) {
  std::string words = figures.gpu_percent >= 0 ? std::to_string(figures.gpu_percent) + " %" : "";
  if (figures.gpu_memory_total_mib > 0)
    words += (words.empty() ? "" : ", ") + messages::memory_words(figures.gpu_memory_peak_mib) + " of " +
             messages::memory_words(figures.gpu_memory_total_mib);
  return words.empty() ? "-" : words;
}

std::string table_of(const std::vector<Report>& reports) {
  std::vector<Cells> cells = {
      {"LEASE", "CLASS", "JOB", "STATE", "BUSY", "IDLE", "CPU TIME", "MEMORY", "GPU", "SUGGESTION"}};
  const auto time = [](std::int64_t ms) { return in_words(static_cast<double>(ms) / 1000); };
  for (const Report& one : reports) {
    const model::JobFigures& figures = one.used.figures;
    cells.push_back({short_id(one.lease), one.resources.class_name, std::to_string(one.job),
                     one.ended ? "ended" : "holds", time(figures.busy_ms), time(figures.idle_ms), time(figures.cpu_ms),
                     messages::memory_words(figures.memory_peak_mib), of_gpus(figures), one.used.suggestion});
  }
  return columns(cells);
}

}  // namespace

int use_report(const std::vector<std::string>& leases, bool json_wanted) {
  const auto status = ask_status();
  if (!status) return report(status.error(), json_wanted);
  auto reports = reports_of(model::parse<model::StatusDocument>(*status).value_or(model::StatusDocument{}));
  std::erase_if(reports, [&](const Report& one) { return !is_meant(one, leases); });
  if (reports.empty() && !leases.empty())
    return report(Error{ErrorCode::kBadRequest,
                        "nothing is known of what such a lease used",
                        "`pouncectl report` shows all of which something is known.",
                        {}},
                  json_wanted);
  if (json_wanted)
    print_json({{"reports", model::to_json(reports)}});
  else
    std::cout << (reports.empty() ? "no lease of this daemon has worked yet\n" : table_of(reports));
  return kOk;
}

}  // namespace pounce::ctl
