#include "pounced/status_document.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/local_launcher.h"
#include "pounce/version.h"
#include "pounced/clock_time.h"
#include "protocol/limits.h"

namespace pounce::daemon {
namespace {

using nlohmann::json;

// The document travels as a text inside a JSON header, where each of its quotes takes two bytes.
constexpr std::size_t kMostBytes = protocol::kHallMessageBytes / 2 - 1024;

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

json story_of(const std::vector<lease::StoryLine>& story, std::size_t most, TimePoint now) {
  json lines = json::array();
  const std::size_t from = story.size() - std::min(story.size(), most);
  for (std::size_t i = from; i < story.size(); ++i)
    lines.push_back({{"ago_s", seconds(now - story[i].when)}, {"what", story[i].what}});
  return lines;
}

json limit_of(const LimitUse& use) {
  if (use.what.empty()) return nullptr;
  return {{"what", use.what}, {"most", use.most}, {"used", use.used}, {"asked", use.asked}};
}

json use_of(const LeaseUse* use) {
  if (use == nullptr) return nullptr;
  return {{"busy_ms", use->busy_ms()},
          {"idle_ms", use->idle_ms()},
          {"cpu_ms", use->cpu_ms()},
          {"memory_peak_mib", use->memory_mib()},
          {"gpu_percent", use->gpu_percent()},
          {"gpu_memory_peak_mib", use->gpu_memory_mib()},
          {"gpu_memory_mib", use->gpu_memory_total_mib()},
          {"suggestion", use->suggestion(false)}};
}

// The lines of the file, which are JSON; one that is not (a full disk cut it) is left out.
json ended_of(const UsageLog& uses) {
  json list = json::array();
  for (const std::string& line : uses.recent())
    if (json one = json::parse(line, nullptr, false); one.is_object()) list.push_back(std::move(one));
  return list;
}

json eta_of(const Eta& eta) {
  if (!eta.known()) return nullptr;
  return {{"start_s", eta.start_s}, {"low_s", eta.low_s}, {"high_s", eta.high_s}, {"basis", eta.basis}};
}

// What few ask for, by the names of Client.options; nothing that was not asked for.
json asked_of(const Resources& asked) {
  json object = json::object();
  if (asked.gpu_memory_mib > 0) object["gpu_memory_mib"] = asked.gpu_memory_mib;
  if (asked.cuda > 0) object["cuda"] = asked.cuda;
  if (asked.placement != Placement::kAny) object["placement"] = asked.placement == Placement::kPack ? "pack" : "spread";
  if (!asked.not_nodes.empty()) object["not_nodes"] = asked.not_nodes;
  if (!asked.account.empty()) object["account"] = asked.account;
  if (!asked.reservation.empty()) object["reservation"] = asked.reservation;
  if (!asked.slurm.empty()) object["slurm"] = asked.slurm;
  return object;
}

std::string not_before(const lease::LeaseView& view) {
  const std::string when = clock_time_of(view.not_before);
  return when.empty() ? when : "; not before " + when;
}

json lease_of(const lease::LeaseView& view, bool stand_in, TimePoint now) {
  json object = {{"lease", view.lease.hex()},
                 {"state", lease::word(view.state)},
                 {"class", view.resources.class_name},
                 {"gpus", view.resources.gpus},
                 {"job", view.job ? view.job->job.value : 0},
                 {"node", view.node},
                 {"devices", view.devices},
                 {"slurm_reason", view.why.sentence},
                 {"class_name", view.why.class_name},
                 {"ahead", view.why.ahead},
                 {"limit", limit_of(view.why.limit)},
                 {"eta", eta_of(view.why.eta)},
                 {"start_s", view.start_s},
                 {"end_s", view.end_s},
                 {"running", view.running},
                 {"worker_linked", view.worker_linked},
                 {"reason", view.reason + not_before(view)},
                 {"waiting", view.waiting},
                 {"release_asked", view.release_asked},
                 {"age_s", seconds(now - view.born)},
                 {"state_s", seconds(now - view.since)},
                 {"cpus", view.resources.cpus},
                 {"gpu_type", view.resources.gpu_type},
                 {"asked", asked_of(view.resources)},
                 {"memory_mib", view.resources.memory_mib},
                 {"time_min", view.resources.time.count()},
                 {"workers", view.resources.workers},
                 {"workers_ready", view.workers_ready}};
  if (stand_in && view.devices.empty() && view.resources.gpus > 0) object["devices"] = launch::kStandIn;
  object["session"] = view.owner ? view.owner->session.hex() : "";
  object["want"] = view.owner ? view.owner->want.value : 0;
  return object;
}

json sessions_of(const Books& books) {
  json list = json::array();
  for (const auto& [session, client] : books.clients)
    list.push_back({{"session", session.hex()},
                    {"pid", client.opened.pid},
                    {"host", client.opened.host},
                    {"directory", client.opened.directory}});
  return list;
}

json counters_of(const lease::Counters& counters) {
  return {{"submits", counters.submits}, {"polls", counters.polls},   {"looks", counters.looks},   {"sweeps", counters.sweeps},
          {"cancels", counters.cancels}, {"events", counters.events}, {"ignored", counters.ignored}};
}

std::string with_stories(json document, const Books& books, const lease::LeaseCore& core, bool stand_in, std::size_t most_lines,
                         TimePoint now) {
  for (const lease::LeaseView& view : core.leases()) {
    json object = lease_of(view, stand_in, now);
    object["used"] = use_of(books.uses.of(view.lease));
    object["story"] = story_of(core.story(view.lease), most_lines, now);
    document["leases"].push_back(std::move(object));
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string status_document(const StatusSources& sources, const lease::LeaseCore& core, TimePoint now) {
  const auto& [setup, facts, books, policy] = sources;
  const json frame = {{"version", kVersion},
                      {"pid", ::getpid()},
                      {"instance", setup.instance.hex()},
                      {"cluster", setup.place.cluster},
                      {"launcher", word(setup.launcher)},
                      {"libslurm", facts.version},
                      {"config", setup.config.path},
                      {"policy", {{"path", policy.path()}, {"trouble", policy.trouble()}}},
                      {"state_folder", setup.folders.state},
                      {"stand_in_gpus", setup.config.stand_in_gpus},
                      {"reconciled", core.reconciled()},
                      {"sessions", sessions_of(books)},
                      {"rpc", counters_of(core.counters())},
                      {"ended", ended_of(books.uses)},
                      {"leases", json::array()}};
  const bool stand_in = setup.launcher == LauncherKind::kLocal && setup.config.stand_in_gpus > 0;
  std::string document;
  for (const std::size_t lines : {64, 8, 0}) {
    document = with_stories(frame, books, core, stand_in, lines, now);
    if (document.size() <= kMostBytes) break;
  }
  return document;
}

}  // namespace pounce::daemon
