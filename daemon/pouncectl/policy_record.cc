// A record of the history as text. QoS are in the form of a policy, so that a state can be applied by hand.
#include <nlohmann/json.hpp>

#include "model/json.h"
#include "policy/policy_file.h"
#include "pouncectl/policy_history.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;

json as_policy(const std::vector<Qos>& qos) { return json::parse(policy::policy_text(qos)); }

Result<std::vector<Qos>> qos_in(const json& document) {
  const auto read = policy::parse_policy(document.dump());
  if (!read) return failure(read.error());
  return policy::all_qos(*read);
}

}  // namespace

// Replaces invalid UTF-8 of a user's text instead of throwing.
std::string encode_record(const PolicyRecord& record) {
  const json document = {{"v", 1},
                         {"when", record.when},
                         {"who", record.who},
                         {"note", record.note},
                         {"file", record.file},
                         {"undoes", record.undoes},
                         {"done", record.done},
                         {"changed", record.changed},
                         {"before", as_policy(record.before)},
                         {"after", as_policy(record.after)}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<PolicyRecord> decode_record(const std::string& text) {
  try {
    const json document = json::parse(text);
    PolicyRecord record;
    document.at("when").get_to(record.when);
    document.at("who").get_to(record.who);
    document.at("note").get_to(record.note);
    document.at("file").get_to(record.file);
    record.undoes = model::from_json<int>(document.at("undoes"));
    document.at("done").get_to(record.done);
    document.at("changed").get_to(record.changed);
    const auto before = qos_in(document.at("before")), after = qos_in(document.at("after"));
    if (!before || !after) return failure(before ? after.error() : before.error());
    record.before = *before;
    record.after = *after;
    return record;
  } catch (const json::exception& error) {
    return failure(ErrorCode::kBadRequest, std::string("no record of a policy: ") + error.what());
  }
}

}  // namespace pounce::ctl
