// Leases in a user's words: one lease, the leases of a pool, a lease that was released.

#include "pouncectl/lease_row.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/json.h"

namespace pounce::ctl {
namespace {

constexpr std::size_t kShortId = 8;

LeaseRow row_of(const model::LeaseRow& lease, const std::vector<model::SessionRow>& sessions) {
  LeaseRow row{lease, {}, {}, 0};
  const auto session = std::ranges::find(sessions, row.session, &model::SessionRow::session);
  if (session == sessions.end()) return row;
  row.directory = session->directory;
  row.host = session->host;
  row.pid = session->pid;
  return row;
}

std::string list_of(const std::vector<LeaseRow>& rows) {
  return joined(rows, ", ", [](const LeaseRow& row) { return short_id(row.lease); });
}

tl::unexpected<Error> unknown(const std::string& what, const std::string& there_are) {
  return failure(ErrorCode::kBadRequest, what, there_are.empty() ? "There is none." : "There are: " + there_are + ".");
}

}  // namespace

std::vector<LeaseRow> lease_rows(const model::StatusDocument& status) {
  std::vector<LeaseRow> rows;
  for (const model::LeaseRow& lease : status.leases) rows.push_back(row_of(lease, status.sessions));
  return rows;
}

std::vector<LeaseRow> lease_rows(const std::string& status_document) {
  return lease_rows(model::parse<model::StatusDocument>(status_document).value_or(model::StatusDocument{}));
}

Result<std::vector<LeaseRow>> named(const std::vector<LeaseRow>& rows, const std::vector<std::string>& beginnings) {
  std::vector<LeaseRow> found;
  for (const std::string& beginning : beginnings) {
    std::vector<LeaseRow> fits;
    for (const LeaseRow& row : rows)
      if (row.lease.starts_with(beginning)) fits.push_back(row);
    if (fits.empty()) return unknown("no lease's id begins with \"" + beginning + "\"", list_of(rows));
    if (fits.size() > 1) return unknown("the ids of several leases begin with \"" + beginning + "\"", list_of(fits));
    const bool again = std::ranges::any_of(found, [&](const LeaseRow& row) { return row.lease == fits.front().lease; });
    if (!again) found.push_back(fits.front());
  }
  return found;
}

Result<std::vector<LeaseRow>> of_session(const std::vector<LeaseRow>& rows, const std::string& beginning) {
  std::vector<LeaseRow> found;
  std::map<std::string, std::string> sessions;  // short id to notebook
  for (const LeaseRow& row : rows) {
    if (row.session.empty()) continue;
    sessions[short_id(row.session)] = notebook_of(row);
    if (row.session.starts_with(beginning)) found.push_back(row);
  }
  for (const LeaseRow& row : found)
    if (row.session != found.front().session)
      return failure(ErrorCode::kBadRequest, "the ids of several sessions begin with \"" + beginning + "\"",
                     "Give more digits.");
  if (!found.empty()) return found;
  const std::string list = joined(sessions, ", ", [](const auto& one) { return one.first + " " + one.second; });
  return unknown("no session with a lease has an id that begins with \"" + beginning + "\"", list);
}

std::string short_id(std::string_view id) { return std::string(id.substr(0, kShortId)); }

std::string counted(std::uint64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string asks(const Resources& resources) {
  std::string words = resources.gpus > 0 ? counted(resources.gpus, "GPU") : "CPU only";
  if (!resources.gpu_type.empty()) words += " " + resources.gpu_type;
  if (resources.cpus > 0) words += ", " + counted(resources.cpus, "CPU");
  if (resources.memory_mib > 0) words += ", " + std::to_string(resources.memory_mib) + " MiB";
  if (resources.time.count() > 0) words += ", " + in_words(static_cast<double>(resources.time.count()) * 60);
  return words;
}

std::string in_words(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
  const std::int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  const auto part = [](std::int64_t count, const char* unit) { return std::to_string(count) + unit; };
  if (minutes == 0) return part(whole, " s");
  if (hours == 0) return part(minutes, " min");
  if (days == 0) return part(hours, " h") + (minutes % 60 > 0 ? part(minutes % 60, " min").insert(0, " ") : "");
  return part(days, " d") + (hours % 24 > 0 ? part(hours % 24, " h").insert(0, " ") : "");
}

std::string tasks_of(const LeaseRow& row) {
  std::string words;
  if (row.waiting > 0) words = std::to_string(row.waiting) + (row.waiting == 1 ? " waits" : " wait");
  if (row.running > 0)
    words += (words.empty() ? "" : ", ") + std::to_string(row.running) + (row.running == 1 ? " runs" : " run");
  return words;
}

std::string notebook_of(const LeaseRow& row) {
  return row.pid == 0 ? "" : row.directory + " (pid " + std::to_string(row.pid) + ")";
}

namespace {

// Rounds to steps that suit an estimate.
std::string coarse(std::int64_t seconds) {
  const std::int64_t minutes = (seconds + 30) / 60;
  const std::int64_t step = minutes < 10 ? 1 : minutes < 60 ? 5 : minutes < 600 ? 30 : 60;
  return in_words(static_cast<double>((minutes + step / 2) / step * step) * 60);
}

}  // namespace

std::string starts(const LeaseRow& row, std::int64_t now_s) {
  const model::QueueWait& wait = row.wait;
  if (wait.eta.known()) return when(wait.eta, now_s);
  if (wait.start_estimate_s == 0) return {};
  return wait.start_estimate_s - now_s < 60 ? "any moment" : "in about " + coarse(wait.start_estimate_s - now_s);
}

std::string when(const Eta& eta, std::int64_t now_s) {
  const std::string middle = eta.start_s - now_s < 60 ? "any moment" : "in about " + coarse(eta.start_s - now_s);
  if (eta.high_s - now_s < 60) return middle;
  return middle + " (" + (eta.low_s - now_s < 60 ? "now" : coarse(eta.low_s - now_s)) + " to " +
         coarse(eta.high_s - now_s) + ")";
}

std::string reported_of(const LeaseRow& row) {
  const model::Reported& reported = row.reported;
  std::vector<std::string> parts;
  if (!reported.status.empty()) parts.push_back(reported.status);
  if (!reported.numbers.empty())
    parts.push_back(joined(reported.numbers, " ", [](const auto& one) { return one.first + "=" + one.second; }));
  if (!reported.mlflow_run.empty()) parts.push_back("MLflow run " + reported.mlflow_run);
  return joined(parts, "; ");
}

std::string why(const LeaseRow& row) {
  std::string words = row.reason.substr(0, row.reason.find_last_not_of('.') + 1);
  if (row.state == "draining" || row.state == "ending") return words;
  if (row.session.empty()) words += (words.empty() ? "" : "; ") + std::string("no notebook claims it");
  if (row.release_asked) words += (words.empty() ? "" : "; ") + std::string("goes back when idle");
  return words;
}

namespace {

// The reason of the first waiting lease that has one.
std::string why_they_wait(const std::vector<const LeaseRow*>& waiting) {
  const auto said = std::ranges::find_if(waiting, [](const LeaseRow* row) { return !why(*row).empty(); });
  return said == waiting.end() ? "" : ": " + why(**said);
}

}  // namespace

bool is_pool(const LeaseRow& row) { return row.resources.is_pool(); }

std::vector<PoolRow> pool_rows(const std::vector<LeaseRow>& rows) {
  std::vector<PoolRow> pools;
  for (const LeaseRow& row : rows) {
    if (!is_pool(row)) continue;
    const auto its_pool = std::ranges::find_if(pools, [&](const PoolRow& pool) {
      return pool.leases.front().session == row.session && pool.resources == row.resources;
    });
    if (its_pool != pools.end())
      its_pool->leases.push_back(row);
    else
      pools.push_back({row.resources, {row}});
  }
  return pools;
}

std::string line_of(const PoolRow& pool) {
  std::size_t ready = 0;
  std::set<std::string> nodes;
  std::vector<const LeaseRow*> waiting;
  for (const LeaseRow& row : pool.leases) {
    ready += row.workers_ready;
    if (row.workers_ready > 0 && !row.node.empty()) nodes.insert(row.node);
    if (row.workers_ready == 0 && row.waiting > 0) waiting.push_back(&row);
  }
  std::string line =
      std::to_string(ready) + " of " + counted(pool.resources.leases_most * pool.resources.workers, "worker");
  if (!nodes.empty()) line += ", " + counted(nodes.size(), "node");
  if (!waiting.empty())
    line += ", " + std::to_string(waiting.size()) + (waiting.size() == 1 ? " waits" : " wait") + why_they_wait(waiting);
  return line;
}

std::string release_words(const LeaseRow& before, const protocol::ReleaseRow& after, protocol::ReleaseHow how) {
  const std::string job = before.job == 0 ? "its job" : "job " + std::to_string(before.job);
  const bool had_tasks = before.waiting + before.running > 0;
  const std::string lost = had_tasks && how != protocol::ReleaseHow::kWhenIdle ? "; its tasks end" : "";
  if (after.state == "ended") return before.job == 0 ? "withdrawn: no job was asked for" + lost : "has ended" + lost;
  if (after.state == "ending") return job + " is cancelled" + lost;
  if (after.state == "draining") return "its worker ends, and " + job + " with it" + lost;
  if (how != protocol::ReleaseHow::kWhenIdle) return job + " is cancelled as soon as Slurm has named it" + lost;
  LeaseRow left;
  left.waiting = after.waiting;
  left.running = after.running;
  const std::string tasks = tasks_of(left);
  return "goes back as soon as it is idle" + (tasks.empty() ? "" : "; tasks: " + tasks) +
         " (at once, ending them: pouncectl release --now " + short_id(before.lease) + ")";
}

}  // namespace pounce::ctl
