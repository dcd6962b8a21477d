// What kernels and workers say about detached tasks.

#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "base/text.h"
#include "pounced/detached/detached_tasks.h"

namespace pounce::daemon {
namespace {

using protocol::DetachedRow;

constexpr std::size_t kMostDetachedRows = 256;  // the newest: a header on the control channel is bounded

std::string list_of(const std::vector<protocol::DetachedRecord>& records) {
  if (records.empty()) return "there are none";
  return "there are " + joined(records, ", ", [](const protocol::DetachedRecord& record) { return record.row.name; });
}

Error no_such_name(const std::string& name, const std::vector<protocol::DetachedRecord>& records) {
  return {ErrorCode::kNoSuchName, "no task has the name " + name + "; " + list_of(records), {}, {}};
}

}  // namespace

void DetachedTasks::hear(Peer& client, const protocol::SubmitDetached& message) {
  const auto known = state_.clients.find(client.session);
  if (known == state_.clients.end() || !usable_name(message.name))
    return answer(client, message.question, {}, {ErrorCode::kBadRequest, "not a name: " + message.name, {}, {}});
  if (const auto said = folder_.record(message.name); said && said->row.task == message.task)
    return answer(client, message.question, {said->row});  // a repeat: our answer was lost with its connection
  // Also if the folder of the live task was removed: two live tasks of one name could not be told apart.
  if (find(message.name) != nullptr)
    return answer(client, message.question, {},
                  {ErrorCode::kNameTaken, "a task has the name " + message.name + " already", {}, {}});
  // The task's session would take the place of another client's session or task.
  if (const SessionId session = session_of(message.task); live_.contains(session) || state_.clients.contains(session))
    return answer(client, message.question, {},
                  {ErrorCode::kBadRequest, "this id is in use: " + message.task.hex(), {}, {}});
  protocol::DetachedRecord record;
  record.instance = setup_.instance;
  record.row.name = message.name;
  record.row.task = message.task;
  record.row.submit_time_s = std::time(nullptr);
  record.opened = known->second.opened;
  record.resources = message.resources;
  record.retries = message.retries;
  if (const auto claimed = folder_.claim(record); !claimed)
    return answer(client, message.question, {}, claimed.error());
  spdlog::info("detached task {} of session={}", message.name, client.session.hex());
  answer(client, message.question, {record.row});
  begin(live_.insert_or_assign(session_of(message.task), Live{std::move(record)}).first->second);
}

void DetachedTasks::hear(Peer& client, const protocol::DetachedAsk& message) {
  auto records = folder_.records();  // also those of this user's other pounceds
  std::ranges::sort(records, std::greater{}, [](const auto& record) { return record.row.submit_time_s; });
  std::vector<DetachedRow> rows;
  for (protocol::DetachedRecord& record : records) {
    if (!message.name.empty() && record.row.name != message.name) continue;
    const Live* live = find(record.row.name);
    rows.push_back(live != nullptr ? live->record.row : record.row);
    if (message.name.empty()) rows.back().error = {};
    if (rows.size() == kMostDetachedRows) break;
  }
  if (!rows.empty() || message.name.empty()) return answer(client, message.question, std::move(rows));
  answer(client, message.question, {}, no_such_name(message.name, records));
}

void DetachedTasks::hear(Peer& client, const protocol::CancelDetached& message) {
  if (Live* live = find(message.name)) fail(*live, {ErrorCode::kCancelled, message.name + " was cancelled", {}, {}});
  auto record = folder_.record(message.name);
  if (!record) return answer(client, message.question, {}, no_such_name(message.name, folder_.records()));
  if (record->row.state != "done")
    return answer(client, message.question, {},
                  {ErrorCode::kBadRequest,
                   message.name + " is looked after by this user's pounce on " + record->opened.host,
                   "End it there.",
                   {}});
  if (message.forget) {
    folder_.remove(message.name);
    checkpoints_.remove(record->row.task);
    record->row.state = "forgotten";
    publish(record->row);
  }
  answer(client, message.question, {record->row});
}

void DetachedTasks::hear(Peer& worker, const protocol::DetachedEnded& message) {
  const auto found =
      std::ranges::find(live_, message.task, [](const auto& entry) { return entry.second.record.row.task; });
  if (found == live_.end()) return;  // a repeated message
  Live& live = found->second;
  const DetachedRow& row = live.record.row;
  if (row.state != "running" || row.relayed || row.lease != worker.lease || message.worker != live.record.worker ||
      message.epoch != live.record.epoch)
    return;
  // A relay that comes later could not tell several workers apart.
  if (message.error.code == ErrorCode::kNotShared && live.record.resources.workers <= 1)
    return relay(live, message.error);
  DetachedRow end;
  end.ok = message.ok;
  end.error = message.error;
  if (is_digest(message.digest))
    end.digest = message.digest;
  else if (end.error.empty())
    end.error = {ErrorCode::kProtocol, "its worker told neither an outcome nor an error", {}, {}};
  finish(live, end);
}

void DetachedTasks::publish(const DetachedRow& row) {
  for (const auto& [session, client] : state_.clients)
    if (Peer* peer = state_.peers.client(session)) control_.send(*peer, protocol::DetachedList{0, {row}, {}});
}

void DetachedTasks::answer(Peer& client, std::uint32_t question, std::vector<DetachedRow> rows, Error error) {
  control_.send(client, protocol::DetachedList{question, std::move(rows), std::move(error)});
}

}  // namespace pounce::daemon
