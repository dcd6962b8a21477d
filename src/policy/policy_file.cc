// A policy file: its JSON document, read with every complaint naming its place, and written.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "policy/policy.h"
#include "policy/policy_keys.h"

namespace pounce::policy {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestCount = 1'000'000'000;

// Refuses duplicate names: JSON keeps only the last, and the first class of that name would vanish silently.
struct Repeated {
  std::vector<std::set<std::string>> open;
  std::string name;

  bool operator()(int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) name = value;
    return true;
  }
};

// Shortens nlohmann's message: "[json.exception.parse_error.101] parse error at line 3, column 5: …".
std::string without_brackets(const std::string& what) {
  const auto end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

Result<json> document_of(std::string_view text) {
  Repeated repeated;
  try {
    auto document = json::parse(text, std::ref(repeated), true, true);
    if (!repeated.name.empty()) return bad("\"" + repeated.name + "\" stands twice in one object");
    if (!document.is_object()) return bad("the policy is not a JSON object");
    return document;
  } catch (const json::exception& error) {
    return bad("this is not JSON (// and /* */ comments are allowed): " + without_brackets(error.what()));
  }
}

bool is_texts(const json& value) {
  if (!value.is_array() || !std::ranges::all_of(value, [](const json& one) { return one.is_string(); })) return false;
  return value.get<std::set<std::string>>().size() == value.size();
}

template <class Read>
bool reads(const json& value, Read read) {
  return value.is_string() && read(value.get_ref<const std::string&>()).has_value();
}

bool fits(const json& value, Form form) {
  switch (form) {
    case Form::kObject:
      return value.is_object();
    case Form::kDuration:
      return reads(value, duration_from);
    case Form::kMinutes:
      return reads(value, minutes_from);
    case Form::kCount:
      return value.is_number_unsigned() && value.get<std::uint64_t>() <= kLargestCount;
    case Form::kFlag:
      return value.is_boolean();
    case Form::kText:
      return value.is_string() && !value.get_ref<const std::string&>().empty();
    case Form::kTexts:
      return is_texts(value);
    case Form::kMemory:
      return reads(value, mib_from);
    case Form::kPorts:
      return reads(value, ports_from);
    case Form::kVersion:
      return reads(value, cuda_from);
  }
  return false;
}

std::string place_of(const std::string& place, const std::string& name) {
  return place.empty() ? name : place + "." + name;
}

// path: in the table of keys, with "*"; place: in the file.
Result<void> check_object(const json& object, std::string_view path, const std::string& place) {
  for (const auto& [name, value] : object.items()) {
    const Key* key = key_at(path, name);
    if (key == nullptr)
      return bad("unknown key \"" + name + "\"" + (place.empty() ? "" : " in " + place) + "; did you mean \"" +
                 nearest(name, names_in(path)) + "\"?");
    const std::string here = place_of(place, name);
    if (name.empty()) return bad("a name in " + place + " is empty");
    if (!fits(value, key->form)) return bad(here + " is " + std::string(words_of(key->form)) + ", not " + value.dump());
    if (key->form != Form::kObject) continue;
    if (const auto inside = check_object(value, key->path, here); !inside) return inside;
  }
  return {};
}

// All code below relies on checked forms.
template <class Read>
auto read(const json& object, const char* name, Read read) -> decltype(read(std::string())) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  return read(found->get<std::string>());
}

template <class T>
void take(const json& from, T& value) {
  from.get_to(value);
}
template <class Rep, class Period>
void take(const json& from, std::chrono::duration<Rep, Period>& time) {
  time = std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(*duration_from(from.get<std::string>()));
}
void take(const json& from, std::chrono::minutes& time) { time = *minutes_from(from.get<std::string>()); }
void take(const json& from, Mib& memory) { memory.count = *mib_from(from.get_ref<const std::string&>()); }
template <class T>
void take(const json& from, std::optional<T>& value) {
  take(from, value.emplace());
}

// Reads each field that the object has.
template <class T>
void read_fields(const json& object, T& value) {
  for_each_field(value, [&](const auto& field, auto& member) {
    if (const auto found = object.find(key_of(field.name)); found != object.end()) take(*found, member);
  });
}

Class read_class(const std::string& name, const json& object) {
  Class one{name, object.value("partition", ""), object.value("account", ""), {}};
  read_fields(object, one.qos);
  one.qos.name = object.value("qos", name);
  return one;
}

Leasing read_leasing(const json& object) {
  Leasing leasing;
  read_fields(object, leasing);
  return leasing;
}

Policy read_policy(const json& document) {
  Policy policy;
  const json classes = document.value("classes", json::object()), types = document.value("gpu_types", json::object()),
             cuda = document.value("gpu_cuda", json::object());
  for (const auto& [name, object] : classes.items()) policy.classes.push_back(read_class(name, object));
  policy.leasing = read_leasing(document.value("leasing", json::object()));
  for (const auto& [type, memory] : types.items()) policy.gpu_memory_mib[type] = *mib_from(memory.get<std::string>());
  for (const auto& [type, newest] : cuda.items()) policy.gpu_cuda[type] = *cuda_from(newest.get<std::string>());
  policy.class_order = document.value("class_order", policy.class_order);
  policy.fallbacks = document.value("fallbacks", decltype(policy.fallbacks){});
  policy.slurm_options = document.value("slurm_options", policy.slurm_options);
  policy.prologue = document.value("prologue", "");
  policy.interpreter = document.value("interpreter", "");
  policy.container = document.value("container", "");
  policy.interface = document.value("interface", "");
  policy.notify = document.value("notify", "");
  policy.ports = read(document, "ports", ports_from);
  return policy;
}

template <class T>
json written(const T& value) {
  return value;
}
template <class Rep, class Period>
json written(const std::chrono::duration<Rep, Period>& time) {
  return duration_text(time);
}
template <class T>
json written(const std::optional<T>& value) {
  return written(*value);
}

// Writes only rules that differ from a QoS without rules.
json class_of(const Qos& qos) {
  json object = json::object();
  for_each_field(qos, [&](const auto& field, const auto& member) {
    if (field.name != "name" && member != field.get(Qos{})) object[std::string(key_of(field.name))] = written(member);
  });
  return object;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  const auto document = document_of(text);
  if (!document) return failure(document.error());
  if (const auto checked = check_object(*document, "", ""); !checked) return failure(checked.error());
  Policy policy = read_policy(*document);
  if (const auto resolved = resolve(policy); !resolved) return failure(resolved.error());
  return policy;
}

std::string policy_text(const std::vector<Qos>& qos) {
  json document = {{"classes", json::object()}};
  for (const Qos& one : qos) document["classes"][one.name] = class_of(one);
  return document.dump(2) + "\n";
}

}  // namespace pounce::policy
