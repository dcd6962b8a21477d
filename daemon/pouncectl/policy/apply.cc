// pouncectl policy apply and rollback: the QoS in slurmdbd are changed, and what was there before is recorded.

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "pouncectl/commands.h"
#include "pouncectl/output.h"
#include "pouncectl/policy/policy_commands.h"
#include "pouncectl/queries.h"

namespace pounce::ctl {
namespace {

std::string now_in_words() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string who(const QosFacts& facts) {
  const char* sudo = std::getenv("SUDO_USER");
  return facts.user + (sudo != nullptr && facts.user != sudo ? std::string(" (sudo by ") + sudo + ")" : "");
}

PolicyRecord record_of(const PolicyOptions& options, const QosFacts& facts, const policy::Plan& plan) {
  PolicyRecord record;
  record.when = now_in_words();
  record.who = who(facts);
  record.note = options.note;
  record.file = options.file;
  record.before = facts.qos;
  record.after = facts.qos;  // the intended state, until Slurm reports the real one
  for (const Qos& one : plan.write) {
    record.changed.push_back(one.name);
    std::erase_if(record.after, [&](const Qos& other) { return other.name == one.name; });
    record.after.push_back(one);
  }
  return record;
}

Error denied(const QosFacts& facts) {
  return {ErrorCode::kRejected,
          "only an Administrator of Slurm may change QoS, and " + facts.user + " is none",
          "Run it as root, or ask the admin for the right: sacctmgr modify user " + facts.user +
              " set adminlevel=Administrator",
          {}};
}

// Keeps the record for a rollback if the outcome is unknown.
Error not_written(const PolicyRecord& record, const PolicyHistory& history, Error error) {
  if (error.code == ErrorCode::kOutcomeUnknown)
    error.remedy = "See what it is now: pouncectl policy plan; " + history.path(record) + " has the state before";
  else
    history.forget(record);
  return error;
}

// Writes the state before to disk before it changes anything, so that a rollback is possible.
Result<void> write(PolicyRecord& record, const PolicyHistory& history, const policy::Plan& plan) {
  if (const auto begun = history.begin(record); !begun) return begun;
  const auto written = ask_slurm(slurm::WriteQos{plan.write});
  if (!written) return failure(not_written(record, history, written.error()));
  record.after = written->qos;
  record.done = true;
  return history.finish(record);
}

int tell(const PolicyReport& done, const std::string& path, const std::string& also, bool json) {
  if (json) {
    auto document = nlohmann::json::parse(report_json(done));
    document["record"] = path;
    print_json(document);
    return kOk;
  }
  std::cout << report_text(done) << also;
  if (!path.empty()) std::cout << "Done, and recorded in " << path << '\n';
  return kOk;
}

int change(const PolicyOptions& options, const QosFacts& facts, const PolicyReport& todo, int undoes,
           const std::string& also, bool json) {
  if (todo.plan.changes.empty() && undoes == 0) return tell(todo, "", also, json);
  if (!facts.may_write) return report(denied(facts), json);
  const PolicyHistory history(options.state);
  PolicyRecord record = record_of(options, facts, todo.plan);
  record.undoes = undoes;
  if (const auto written = write(record, history, todo.plan); !written) return report(written.error(), json);
  return tell(todo, history.path(record), also, json);
}

Error no_database() {
  return {ErrorCode::kBadRequest,
          "this Slurm has no slurmdbd, so it has no QoS to change",
          "Set up slurmdbd; `pouncectl policy plan` lists what Slurm does not enforce until then.",
          {}};
}

// The QoS that the apply changed, as they were. QoS that it created stay: jobs may use them.
std::vector<Qos> to_restore(const PolicyRecord& record) {
  std::vector<Qos> wanted;
  for (const Qos& one : record.before)
    if (std::ranges::find(record.changed, one.name) != record.changed.end()) wanted.push_back(one);
  return wanted;
}

std::string made_then(const PolicyRecord& record) {
  std::string text;
  for (const std::string& name : record.changed)
    if (std::ranges::find(record.before, name, &Qos::name) == record.before.end())
      text += "note: QoS " + name + " was made then and stays; remove it: sacctmgr delete qos " + name + "\n";
  return text;
}

}  // namespace

int policy_apply(const PolicyOptions& options, bool json) {
  const auto policy = read_trusted_policy(options.file);
  if (!policy) return report(policy.error(), json);
  const auto facts = ask_slurm(slurm::ReadQos{});
  if (!facts) return report(facts.error(), json);
  if (!facts->has_database) return report(no_database(), json);
  const auto records = PolicyHistory(options.state).read();
  if (!records) return report(records.error(), json);
  const auto todo = report_on(*policy, *facts, *records);
  if (!todo) return report(todo.error(), json);
  return change(options, *facts, *todo, 0, "", json);
}

int policy_rollback(const PolicyOptions& options, bool json) {
  const auto records = PolicyHistory(options.state).read();
  if (!records) return report(records.error(), json);
  const PolicyRecord* last = to_undo(*records);
  if (last == nullptr)
    return report({ErrorCode::kBadRequest,
                   "there is nothing to roll back: " + options.state + " has no apply left",
                   "Name the folder that apply used: --state FOLDER.",
                   {}},
                  json);
  const auto facts = ask_slurm(slurm::ReadQos{});
  if (!facts) return report(facts.error(), json);
  if (!facts->has_database) return report(no_database(), json);
  PolicyReport todo;
  todo.cluster = facts->cluster;
  todo.plan = policy::plan(facts->qos, to_restore(*last));
  todo.plan.left.clear();  // a rollback does not concern the other QoS
  return change(options, *facts, todo, last->number, made_then(*last), json);
}

}  // namespace pounce::ctl
