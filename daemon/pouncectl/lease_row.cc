#include "pouncectl/lease_row.h"

#include <algorithm>
#include <map>

#include "model/json.h"

#include "base/join.h"

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

std::string counted(std::uint64_t count, const char* one) { return std::to_string(count) + " " + one + (count == 1 ? "" : "s"); }

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
  return middle + " (" + (eta.low_s - now_s < 60 ? "now" : coarse(eta.low_s - now_s)) + " to " + coarse(eta.high_s - now_s) + ")";
}

std::string why(const LeaseRow& row) {
  std::string words = row.reason.substr(0, row.reason.find_last_not_of('.') + 1);
  if (row.state == "draining" || row.state == "ending") return words;
  if (row.session.empty()) words += (words.empty() ? "" : "; ") + std::string("no notebook claims it");
  if (row.release_asked) words += (words.empty() ? "" : "; ") + std::string("goes back when idle");
  return words;
}

}  // namespace pounce::ctl
