// What kernels and workers say about named tasks.
#include <algorithm>
#include <ctime>

#include "base/log.h"
#include "pounced/named_tasks.h"

namespace pounce::daemon {
namespace {

using protocol::NamedRow;

constexpr std::size_t kMostRows = 256;  // a header in the hall is bounded: the newest

std::string list_of(const std::vector<protocol::NamedRecord>& records) {
  std::string text;
  for (const protocol::NamedRecord& record : records) text += (text.empty() ? "" : ", ") + record.row.name;
  return text.empty() ? "there are none" : "there are " + text;
}

Error no_such_name(const std::string& name, const std::vector<protocol::NamedRecord>& records) {
  return {ErrorCode::kNoSuchName, "no task has the name " + name + "; " + list_of(records), {}, {}};
}

}  // namespace

void NamedTasks::hear(Guest& client, const protocol::NameTask& message) {
  const auto known = books_.clients.find(client.session);
  if (known == books_.clients.end() || !usable_name(message.name))
    return answer(client, message.request, {}, {ErrorCode::kBadRequest, "not a name: " + message.name, {}, {}});
  if (const auto said = folder_.record(message.name); said && said->row.task == message.task)
    return answer(client, message.request, {said->row});  // again: our answer was lost with its connection
  protocol::NamedRecord record;
  record.instance = setup_.instance;
  record.row.name = message.name;
  record.row.task = message.task;
  record.row.submit_time_s = std::time(nullptr);
  record.opened = known->second.opened;
  record.resources = message.resources;
  record.retries = message.retries;
  if (const auto claimed = folder_.claim(record); !claimed) return answer(client, message.request, {}, claimed.error());
  spdlog::info("named task {} of session={}", message.name, client.session.hex());
  answer(client, message.request, {record.row});
  begin(live_.insert_or_assign(session_of(message.task), Live{std::move(record)}).first->second);
}

void NamedTasks::hear(Guest& client, const protocol::NameAsk& message) {
  auto records = folder_.records();  // also those of this user's other pounceds
  std::ranges::sort(records, std::greater{}, [](const auto& record) { return record.row.submit_time_s; });
  std::vector<NamedRow> rows;
  for (protocol::NamedRecord& record : records) {
    if (!message.name.empty() && record.row.name != message.name) continue;
    const Live* live = find(record.row.name);
    rows.push_back(live != nullptr ? live->record.row : record.row);
    if (message.name.empty()) rows.back().error = {};
    if (rows.size() == kMostRows) break;
  }
  if (!rows.empty() || message.name.empty()) return answer(client, message.request, std::move(rows));
  answer(client, message.request, {}, no_such_name(message.name, records));
}

void NamedTasks::hear(Guest& client, const protocol::NameEnd& message) {
  if (Live* live = find(message.name)) fail(*live, {ErrorCode::kCancelled, message.name + " was cancelled", {}, {}});
  auto record = folder_.record(message.name);
  if (!record) return answer(client, message.request, {}, no_such_name(message.name, folder_.records()));
  if (record->row.state != "done")
    return answer(client, message.request, {},
                  {ErrorCode::kBadRequest, message.name + " is looked after by this user's pounce on " + record->opened.host,
                   "End it there.", {}});
  if (message.forget) {
    folder_.remove(message.name);
    record->row.state = "forgotten";
    publish(record->row);
  }
  answer(client, message.request, {record->row});
}

void NamedTasks::hear(Guest& worker, const protocol::NamedEnded& message) {
  const auto found = std::ranges::find(live_, message.task, [](const auto& entry) { return entry.second.record.row.task; });
  if (found == live_.end()) return;  // said twice
  Live& live = found->second;
  const NamedRow& row = live.record.row;
  if (row.state != "running" || row.carried || row.lease != worker.lease || message.worker != live.record.worker || message.epoch != live.record.epoch) return;
  // Of several workers none could be told from another by a courier that comes later.
  if (message.error.code == ErrorCode::kNotShared && live.record.resources.workers <= 1) return carry(live, message.error);
  NamedRow end;
  end.ok = message.ok;
  end.error = message.error;
  if (is_digest(message.digest))
    end.digest = message.digest;
  else if (end.error.text.empty())
    end.error = {ErrorCode::kProtocol, "its worker told neither an outcome nor an error", {}, {}};
  finish(live, end);
}

void NamedTasks::publish(const NamedRow& row) {
  for (const auto& [session, client] : books_.clients)
    if (Guest* guest = books_.guests.client(session)) hall_.send(*guest, protocol::NamesAre{0, {row}, {}});
}

void NamedTasks::answer(Guest& client, std::uint32_t request, std::vector<NamedRow> rows, Error error) {
  hall_.send(client, protocol::NamesAre{request, std::move(rows), std::move(error)});
}

}  // namespace pounce::daemon
