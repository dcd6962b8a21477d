#include "pounced/leases/status_document.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/log.h"
#include "launch/local_launcher.h"
#include "model/json.h"
#include "pounce/version.h"
#include "pounced/leases/nodes.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {

std::int64_t unix_time_of(TimePoint when) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(when - Clock::now());
  return left <= left.zero() ? 0 : std::time(nullptr) + left.count();
}

namespace {

constexpr std::size_t kMostQueueRows = 400;  // about 400 bytes each; a message has at most 256 KiB

protocol::QueueRow row_of(const JobView& view) {
  protocol::QueueRow row;
  row.job = view.job_identity.job.value;
  row.name = view.name;
  row.class_name = view.class_name;
  row.state = view.state_name;
  row.reason = view.reason;
  row.node = view.nodes;
  row.devices = view.devices;
  row.lease = view.lease ? view.lease->hex() : "";
  row.submit_time_s = view.submit_time_s;
  row.start_time_s = view.start_time_s;
  row.end_time_s = view.end_time_s;
  if (view.state != JobState::kQueued) return row;
  row.word = job::waiting_of(view).word;
  row.limit = view.limit;
  row.ahead = view.ahead;
  return row;
}

}  // namespace

protocol::QueueIs queue_rows(const Result<std::vector<JobView>>& views) {
  protocol::QueueIs answer;
  if (!views) {
    answer.error = views.error();
    return answer;
  }
  for (const JobView& view : *views) {
    if (answer.rows.size() == kMostQueueRows) break;
    answer.rows.push_back(row_of(view));
  }
  return answer;
}

namespace {

using protocol::ReleaseHow;

protocol::ReleaseRow row_of(const LeaseId& lease, const std::vector<lease::LeaseView>& views) {
  for (const lease::LeaseView& view : views)
    if (view.lease == lease) return {lease, std::string(word(view.state)), view.waiting, view.running};
  return {lease, std::string(word(lease::LeaseState::kEnded)), 0, 0};
}

}  // namespace

lease::ReleaseAsked release_asked(const LeaseId& lease, const protocol::ReleaseAsk& message) {
  const bool cancel = message.how == ReleaseHow::kCancel;
  const std::string by = message.by.empty() ? "a client" : message.by;
  Error why = error_of(cancel ? ErrorCode::kJobCancelled : ErrorCode::kLeaseEnded,
                       {.code = cancel ? CauseCode::kCancelled : CauseCode::kReleased, .word = by});
  why.remedy = "Submit again; a user ended it.";
  spdlog::info("lease={} release asked by {}", lease.hex(), by);
  return {lease, message.how != ReleaseHow::kWhenIdle, std::move(why)};
}

protocol::ReleaseIs release_rows(const protocol::ReleaseAsk& message, const lease::LeaseCore& core) {
  protocol::ReleaseIs answer{message.question, {}};
  const auto views = core.leases();
  for (const LeaseId& lease : message.leases) answer.rows.push_back(row_of(lease, views));
  return answer;
}

namespace {

// The document travels as a text inside a JSON header, where each of its quotes takes two bytes.
constexpr std::size_t kDocumentBytes = protocol::kControlMessageBytes / 2 - 1024;

double seconds_of(Duration time) { return std::chrono::duration<double>(time).count(); }

std::vector<model::HistoryLine> history_of(const std::vector<lease::HistoryLine>& history, TimePoint now) {
  std::vector<model::HistoryLine> lines;
  for (const lease::HistoryLine& line : history) {
    model::HistoryLine& entry = lines.emplace_back();
    entry.ago_s = seconds_of(now - line.when);
    entry.cause = line.why;
    if (line.from != line.to) entry.from = lease::word(line.from), entry.to = lease::word(line.to);
  }
  return lines;
}

// Fills in the granted class where the request named none.
Resources with_class(Resources resources, const std::string& class_name) {
  if (resources.class_name.empty()) resources.class_name = class_name;
  return resources;
}

model::LeaseRow row_of(const lease::LeaseView& view, bool stand_in, TimePoint now) {
  const bool queued = view.state == lease::LeaseState::kQueued;
  model::LeaseRow row;
  row.lease = view.lease.hex();
  row.state = lease::word(view.state);
  row.cause = view.reason;
  row.not_before_s = unix_time_of(view.not_before);
  row.resources = with_class(view.resources, view.why.class_name);
  row.job = view.job ? view.job->job.value : 0;
  row.node = view.node;
  row.devices = stand_in && view.devices.empty() && view.resources.gpus > 0 ? launch::kStandIn : view.devices;
  if (queued) row.wait = wait_of(view.why, view.start_s);
  row.start_s = queued ? 0 : view.start_s;
  row.end_s = view.end_s;
  row.given = view.given;
  row.waiting = view.waiting;
  row.running = view.running;
  row.worker_linked = view.worker_linked;
  row.release_asked = view.release_asked;
  row.workers_ready = view.workers_ready;
  row.session = view.owner ? view.owner->session.hex() : "";
  row.request = view.owner ? view.owner->request.value : 0;
  row.age_s = seconds_of(now - view.born);
  row.state_s = seconds_of(now - view.since);
  return row;
}

// The sessions that the core has. ClientFacts are kept longer, because a suspended client may come back.
std::vector<model::SessionRow> sessions_of(const DaemonState& state, const lease::LeaseCore& core) {
  std::vector<model::SessionRow> rows;
  for (const auto& [session, client] : state.clients)
    if (core.has_session(session))
      rows.push_back({session.hex(), client.opened.pid, client.opened.host, client.opened.directory});
  return rows;
}

model::RpcCounts rpc_of(const lease::Counters& counters) {
  return {counters.submits, counters.polls,  counters.snapshots, counters.reconciles,
          counters.cancels, counters.events, counters.ignored};
}

// Keeps the last lines of each history.
void shorten_histories(model::StatusDocument& document, std::size_t most) {
  for (model::LeaseRow& row : document.leases)
    row.history.erase(row.history.begin(),
                      row.history.end() - static_cast<std::ptrdiff_t>(std::min(row.history.size(), most)));
}

void forget_gpus(model::Used& used) { used.gpus.clear(), used.gpu_tasks.clear(); }

// GPU rows take the most room and say the least; `of_all`: also what is reported.
void forget_gpus(model::StatusDocument& document, bool of_all) {
  for (model::EndedLease& ended : document.ended) forget_gpus(ended.used);
  if (!of_all) return;
  for (model::LeaseRow& row : document.leases) {
    row.reported = {};
    if (row.used) forget_gpus(*row.used);
  }
  for (model::NodeRow& node : document.nodes) node.gpus.clear();
}

}  // namespace

std::string status_document(const StatusSources& sources, const lease::LeaseCore& core, TimePoint now) {
  const auto& [setup, facts, state, policy, listeners] = sources;
  const bool stand_in = setup.launcher == LauncherKind::kLocal && setup.config.stand_in_gpus > 0;
  model::StatusDocument document{kVersion,
                                 ::getpid(),
                                 setup.instance.hex(),
                                 setup.scope.cluster,
                                 std::string(word(setup.launcher)),
                                 facts.version,
                                 setup.config.path,
                                 {policy.path(), policy.trouble()},
                                 setup.folders.state,
                                 setup.config.stand_in_gpus,
                                 core.reconciled(),
                                 listeners,
                                 sessions_of(state, core),
                                 rpc_of(core.counters()),
                                 {},
                                 {state.uses.recent().begin(), state.uses.recent().end()},
                                 node_rows(state.uses, state.avoided, now)};
  for (const lease::LeaseView& view : core.leases()) {
    model::LeaseRow& row = document.leases.emplace_back(row_of(view, stand_in, now));
    if (const LeaseUtilisation* use = state.uses.of(view.lease)) {
      row.used = use->used();
      row.reported = use->reported();
      row.now = use->now();
      for (const auto& [worker, beat] : use->workers)
        if (!beat.loading.empty()) row.loading.push_back(beat.loading);
    }
    row.history = history_of(core.history(view.lease), now);
  }
  std::string text;
  for (const std::size_t lines : {64, 8, 0}) {
    shorten_histories(document, lines);
    text = model::to_text(document);
    if (text.size() <= kDocumentBytes) return text;
  }
  for (const bool of_all : {false, true}) {
    forget_gpus(document, of_all);
    text = model::to_text(document);
    if (text.size() <= kDocumentBytes) break;
  }
  return text;
}

}  // namespace pounce::daemon
