#include "pouncectl/lease_row.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace pounce::ctl {
namespace {

using nlohmann::json;

constexpr std::size_t kShortId = 8;

void read_wait(const json& lease, LeaseRow& row) {
  row.slurm_reason = lease.value("slurm_reason", "");
  row.ahead = lease.value("ahead", -1);
  row.start_s = lease.value("start_s", std::int64_t{0});
  if (const json eta = lease.value("eta", json()); eta.is_object())
    row.eta = {eta.value("start_s", std::int64_t{0}), eta.value("low_s", std::int64_t{0}), eta.value("high_s", std::int64_t{0}),
               eta.value("basis", "")};
  if (const json limit = lease.value("limit", json()); limit.is_object())
    row.limit = {limit.value("what", ""), limit.value("most", std::uint64_t{0}), limit.value("used", std::uint64_t{0}),
                 limit.value("asked", std::uint64_t{0})};
}

LeaseRow row_of(const json& lease, const std::map<std::string, json>& sessions) {
  LeaseRow row;
  row.id = lease.value("lease", "");
  row.class_name = lease.value("class", "");
  if (row.class_name.empty()) row.class_name = lease.value("class_name", "");
  row.gpu_type = lease.value("gpu_type", "");
  row.state = lease.value("state", "");
  row.reason = lease.value("reason", "");
  row.node = lease.value("node", "");
  row.devices = lease.value("devices", "");
  row.session = lease.value("session", "");
  row.gpus = lease.value("gpus", 0u);
  row.cpus = lease.value("cpus", 0u);
  row.job = lease.value("job", 0u);
  row.workers = lease.value("workers", 1u);
  row.waiting = lease.value("waiting", 0u);
  row.running = lease.value("running", 0u);
  row.memory_mib = lease.value("memory_mib", std::uint64_t{0});
  row.time_min = lease.value("time_min", std::int64_t{0});
  row.age_s = lease.value("age_s", 0.0);
  row.state_s = lease.value("state_s", 0.0);
  row.release_asked = lease.value("release_asked", false);
  if (row.state == "queued") read_wait(lease, row);
  if (const auto session = sessions.find(row.session); session != sessions.end()) {
    row.directory = session->second.value("directory", "");
    row.host = session->second.value("host", "");
    row.pid = session->second.value("pid", 0u);
  }
  return row;
}

std::string list_of(const std::vector<LeaseRow>& rows) {
  std::string list;
  for (const LeaseRow& row : rows) list += (list.empty() ? "" : ", ") + short_id(row.id);
  return list;
}

std::string counted(std::uint64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

tl::unexpected<Error> unknown(const std::string& what, const std::string& there_are) {
  return failure(ErrorCode::kBadRequest, what, there_are.empty() ? "There is none." : "There are: " + there_are + ".");
}

}  // namespace

std::vector<LeaseRow> lease_rows(const std::string& status_document) {
  std::vector<LeaseRow> rows;
  const json document = json::parse(status_document, nullptr, false);
  if (!document.is_object()) return rows;
  std::map<std::string, json> sessions;
  for (const json& session : document.value("sessions", json::array()))
    sessions[session.value("session", "")] = session;
  for (const json& lease : document.value("leases", json::array())) rows.push_back(row_of(lease, sessions));
  return rows;
}

Result<std::vector<LeaseRow>> named(const std::vector<LeaseRow>& rows, const std::vector<std::string>& beginnings) {
  std::vector<LeaseRow> found;
  for (const std::string& beginning : beginnings) {
    std::vector<LeaseRow> fits;
    for (const LeaseRow& row : rows)
      if (row.id.starts_with(beginning)) fits.push_back(row);
    if (fits.empty()) return unknown("no lease's id begins with \"" + beginning + "\"", list_of(rows));
    if (fits.size() > 1) return unknown("the ids of several leases begin with \"" + beginning + "\"", list_of(fits));
    const bool again = std::ranges::any_of(found, [&](const LeaseRow& row) { return row.id == fits.front().id; });
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
  std::string list;
  for (const auto& [id, notebook] : sessions) list += (list.empty() ? "" : ", ") + id + " " + notebook;
  return unknown("no session with a lease has an id that begins with \"" + beginning + "\"", list);
}

std::string short_id(std::string_view id) { return std::string(id.substr(0, kShortId)); }

std::string asks(const LeaseRow& row) {
  std::string words = row.gpus > 0 ? counted(row.gpus, "GPU") : "CPU only";
  if (!row.gpu_type.empty()) words += " " + row.gpu_type;
  if (row.cpus > 0) words += ", " + counted(row.cpus, "CPU");
  if (row.memory_mib > 0) words += ", " + std::to_string(row.memory_mib) + " MiB";
  if (row.time_min > 0) words += ", " + in_words(static_cast<double>(row.time_min) * 60);
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

// As an estimate is.
std::string coarse(std::int64_t seconds) {
  const std::int64_t minutes = (seconds + 30) / 60;
  const std::int64_t step = minutes < 10 ? 1 : minutes < 60 ? 5 : minutes < 600 ? 30 : 60;
  return in_words(static_cast<double>((minutes + step / 2) / step * step) * 60);
}

}  // namespace

std::string starts(const LeaseRow& row, std::int64_t now_s) {
  if (row.eta.known()) return when(row.eta, now_s);
  if (row.start_s == 0) return {};
  return row.start_s - now_s < 60 ? "any moment" : "in about " + coarse(row.start_s - now_s);
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
