// Prints what the documentation takes from the tables of fields: for each section a line "=== FILE SECTION" (or "===
// FILE" for a whole file), then its content. tests/docs_tables puts it there, and compares.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/lease/defaults.h"
#include "model/status_document.h"
#include "policy/policy_keys.h"
#include "pounced/startup/config.h"
#include "protocol/messages.h"

using namespace pounce;  // NOLINT: a test's program

namespace {

std::string code(std::string_view word) { return "`" + std::string(word) + "`"; }
std::string cell(std::string_view text) { return text.empty() ? " |" : " " + std::string(text) + " |"; }

// Values whose fields stand among those of others, by what the page calls them.
template <class T>
constexpr std::string_view kCalled = "";
template <>
constexpr std::string_view kCalled<Resources> = "resources";
template <>
constexpr std::string_view kCalled<model::QueueWait> = "wait";
template <>
constexpr std::string_view kCalled<model::JobFigures> = "figures";
template <>
constexpr std::string_view kCalled<model::Used> = "used";

// What the page calls the value that a field is part of; empty: it is the struct's own.
template <class Get>
constexpr std::string_view kWithin = "";
template <class Owner, class Member, class Inner>
constexpr std::string_view kWithin<Through<MemberOf<Owner, Member>, Inner>> = kCalled<Member>;

// What it means, and its bounds.
template <class Field>
std::string about(const Field& field) {
  std::string text(field.about);
  if (field.bounds != Bounds{})
    text +=
        (text.empty() ? "" : "; ") + std::to_string(field.bounds.least) + " to " + std::to_string(field.bounds.most);
  return text;
}

// do_it(name, where, about) for each field, and once for all that stand there for another value.
template <class T, class Do>
void for_each_row(Do do_it) {
  const T value{};
  std::string_view last;
  for_each_field(value, [&]<class Get, bool kAlways, class Member>(const Field<Get, kAlways>& field, const Member&) {
    constexpr bool kRare = !kAlways || requires(Member member) { member.has_value(); };
    if (kWithin<Get>.empty())
      do_it(code(field.name), kRare ? "if set" : "", about(field));
    else if (kWithin<Get> != last)
      do_it("those of *" + std::string(kWithin<Get>) + "*", "", std::string());
    last = kWithin<Get>;
  });
}

template <class T>
std::string names() {
  std::string list;
  for_each_row<T>(
      [&](const std::string& name, std::string_view, const std::string&) { list += (list.empty() ? "" : " ") + name; });
  return list;
}

// Why it is sent, and what of its fields the name does not say.
template <class T>
std::string meaning(std::string_view when) {
  std::string text(when);
  for_each_row<T>([&](const std::string& name, std::string_view, const std::string& about) {
    if (!about.empty()) text += (text.empty() ? "" : ". ") + name + ": " + std::string(about);
  });
  return text;
}

template <class... Messages>
std::string messages(const std::variant<Messages...>*) {
  std::string text = "| type | from → to | fields | payload | when |\n|---|---|---|---|---|\n";
  ((text += "|" + cell(code(Messages::kType)) + cell(Messages::kAbout.way) + cell(names<Messages>()) +
            cell(Messages::kAbout.payload) + cell(meaning<Messages>(Messages::kAbout.when)) + "\n"),
   ...);
  return text;
}

template <class T>
std::string value(std::string_view name, std::string_view where) {
  std::string text = "| **" + std::string(name) + "** | |" + cell(where) + "\n";
  for_each_row<T>([&](const std::string& field, std::string_view rare, const std::string& about) {
    const std::string glue = rare.empty() || about.empty() ? "" : ": ";
    text += "| |" + cell(field) + cell(std::string(rare) + glue + std::string(about)) + "\n";
  });
  return text;
}

constexpr char kValueHead[] = "| value | field | meaning |\n|---|---|---|\n";

std::string values() {
  using namespace pounce::protocol;
  return kValueHead + value<Error>("error", "") +
         value<Cause>("cause", "why something is so, in codes and numbers; `src/messages` has its sentence") +
         value<Resources>("resources", "0 or empty: the class decides") +
         value<model::QueueWait>("wait", "of a queued job") +
         value<model::JobFigures>("figures", "of a job since it began") + value<Request>("request", "in `demand`") +
         value<ReleaseRow>("release row", "in `release_is`") + value<ClassUse>("class row", "in `classes_is`") +
         value<GpuUse>("gpu row", "in `classes_is`") + value<LimitUse>("limit", "that a job waits for") +
         value<Eta>("eta", "when something that waits is expected to start") +
         value<Choice>("choice", "in `classes_is`: what one who waits could ask for instead") +
         value<QueueRow>("queue row", "in `queue_is`") + value<DetachedRow>("detached row", "in `detached_list`") +
         value<model::GpuRow>("device", "a GPU of a worker: in `worker_gpus` and the status document") +
         value<model::TaskGpuUse>("device use", "of one task: in `worker_gpus` and the status document") +
         value<model::Reported>("reported",
                                "by programs of a worker: in `activity`, `worker_beat` and the status document") +
         value<model::UseNow>("use now", "of a worker in `worker_beat`, of a lease in the status document");
}

std::string status() {
  using namespace pounce::model;
  return kValueHead + value<StatusDocument>("the document", "") + value<ListenerRow>("listener", "in `listeners`") +
         value<SessionRow>("session", "in `sessions`") + value<PolicyInUse>("policy", "") +
         value<RpcCounts>("rpc", "how often, since the start") + value<LeaseRow>("lease", "in `leases`") +
         value<Used>("used", "of a lease") + value<HistoryLine>("history line", "") +
         value<EndedLease>("ended lease", "in `ended`; also a line of the state folder's file `usage`") +
         value<NodeRow>("node", "in `nodes`");
}

std::string times() {
  const lease::Defaults defaults;
  std::string text = "| key | default | meaning |\n|---|---|---|\n";
  for (const lease::ConfigKey& key : lease::kConfigKeys) {
    const auto value = key.time == nullptr ? static_cast<std::int64_t>(defaults.*key.number)
                       : key.in_seconds()  ? (defaults.*key.time).count() / 1000
                                           : (defaults.*key.time).count();
    text += "|" + cell(code(key.name)) + cell(std::to_string(value)) + cell(key.meaning) + "\n";
  }
  return text;
}

std::string configuration() {
  std::string text = "| key | meaning |\n|---|---|\n";
  const daemon::Config config;
  for_each_field(
      config, [&](const auto& field, const auto&) { text += "|" + cell(code(field.name)) + cell(field.about) + "\n"; });
  return text;
}

std::string policy_keys() {
  std::string text = "| key | is | meaning | of |\n|---|---|---|---|\n";
  for (const policy::Key& key : policy::keys()) {
    const char* of = key.reader == policy::Reader::kEditors ? "-"
                     : key.reader == policy::Reader::kSlurm ? "plan, apply"
                                                            : "pounced";
    text += "|" + cell(code(key.path)) + cell(words_of(key.form)) + cell(key.meaning) + cell(of) + "\n";
  }
  return text;
}

using Schema = nlohmann::ordered_json;

Schema schema_of(policy::Form form) {
  using enum policy::Form;
  // As base/durations.h reads them.
  const std::string units = "([0-9]+([.][0-9]+)? *[A-Za-z]+ *)+", days = "[0-9]+-([0-9]+(:[0-9]+){0,2})?";
  const auto time = [&](const std::string& clock) { return "^(" + units + "|" + days + "|" + clock + ")$"; };
  switch (form) {
    case kObject:
      return {{"type", "object"}};
    case kDuration:
      return {{"type", "string"}, {"pattern", time("[0-9]+(:[0-9]+){1,2}")}};
    case kMinutes:
      return {{"type", "string"}, {"pattern", time("[0-9]+(:[0-9]+){0,2}")}};
    case kCount:
      return {{"type", "integer"}, {"minimum", 0}, {"maximum", 1'000'000'000}};
    case kFlag:
      return {{"type", "boolean"}};
    case kText:
      return {{"type", "string"}, {"minLength", 1}};
    case kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}, {"uniqueItems", true}};
    case kMemory:
      return {{"type", "string"}, {"pattern", "^[0-9]{1,9}(MB|GB)$"}};
    case kPorts:
      return {{"type", "string"}, {"pattern", "^[0-9]{4,5}-[0-9]{4,5}$"}};
    case kVersion:
      return {{"type", "string"}, {"pattern", "^[0-9]{1,3}(\\.[0-9]{1,2})?$"}};
  }
  return {};
}

// What may stand in the object at this path.
void add_members(Schema& object, const std::string& path) {
  const std::string start = path.empty() ? path : path + ".";
  object["additionalProperties"] = false;
  for (const policy::Key& key : policy::keys()) {
    const std::string name = key.path.starts_with(start) ? key.path.substr(start.size()) : "";
    if (name.empty() || name.find('.') != std::string::npos) continue;
    Schema member = schema_of(key.form);
    member["description"] = key.meaning;
    if (key.form == policy::Form::kObject) add_members(member, key.path);
    if (name == "*") {
      object["propertyNames"] = {{"minLength", 1}};
      object["additionalProperties"] = std::move(member);
    } else {
      object["properties"][name] = std::move(member);
    }
  }
}

std::string policy_schema() {
  Schema schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A policy of pounce"}, {"type", "object"}};
  add_members(schema, "");
  return schema.dump(2) + "\n";
}

void print(const char* where, const std::string& content) { std::printf("=== %s\n%s", where, content.c_str()); }

}  // namespace

int main() {
  print("docs/protocol.md messages", messages(static_cast<const protocol::Header*>(nullptr)));
  print("docs/protocol.md values", values());
  print("docs/protocol.md status", status());
  print("docs/states.md config-keys", times());
  print("docs/states.md configuration", configuration());
  print("docs/policy.md keys", policy_keys());
  print("docs/policy.schema.json", policy_schema());
}
