// How a policy file is written: its amounts and its keys.

#include "policy/policy_keys.h"

#include <algorithm>
#include <charconv>

#include "base/durations.h"
#include "base/text.h"
#include "pounce/resources.h"

namespace pounce::policy {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t worth;
};
constexpr Unit kTimes[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};  // largest first
constexpr Unit kMemories[] = {{"GB", 1024}, {"MB", 1}};

template <std::size_t N>
std::optional<std::uint64_t> amount(std::string_view text, const Unit (&units)[N], std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{}) return std::nullopt;
  for (const Unit& one : units)
    if (unit == one.name && number <= most / one.worth) return number * one.worth;
  return std::nullopt;
}

// nullopt also if the time is not a multiple of `unit` seconds, or longer than any request may be.
std::optional<std::chrono::seconds> whole(std::optional<double> seconds, int unit) {
  const bool is_possible = seconds && *seconds <= static_cast<double>(std::chrono::seconds(kMostTime).count());
  if (!is_possible || std::fmod(*seconds, unit) != 0) return std::nullopt;
  return std::chrono::seconds(static_cast<std::int64_t>(*seconds));
}

}  // namespace

std::optional<std::chrono::seconds> duration_from(std::string_view text) { return whole(duration_s(text), 1); }

std::optional<std::chrono::minutes> minutes_from(std::string_view text) {
  const auto seconds = whole(time_limit_s(text), 60);
  if (!seconds) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::minutes>(*seconds);
}

std::string duration_text(std::chrono::seconds time) {
  const auto seconds = static_cast<std::uint64_t>(time.count());
  for (const Unit& unit : kTimes)
    if (seconds > 0 && seconds % unit.worth == 0) return std::to_string(seconds / unit.worth) + std::string(unit.name);
  return "0s";
}

std::optional<std::uint64_t> mib_from(std::string_view text) { return amount(text, kMemories, kMostMemoryMib); }

std::string memory_text(std::uint64_t mib) {
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "GB" : std::to_string(mib) + "MB";
}

std::optional<std::uint32_t> cuda_from(std::string_view text) {
  std::uint32_t major = 0, minor = 0;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, major);
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '.') read = std::from_chars(read.ptr + 1, end, minor);
  if (read.ec != std::errc{} || read.ptr != end || major == 0 || major > 999 || minor > 99) return std::nullopt;
  return major * 1000 + minor * 10;
}

std::string cuda_text(std::uint32_t cuda) {
  return std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
}

std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_from(std::string_view text) {
  std::uint16_t first = 0, last = 0;
  const char* end = text.data() + text.size();
  const auto dash = std::from_chars(text.data(), end, first);
  if (dash.ec != std::errc{} || dash.ptr == end || *dash.ptr != '-') return std::nullopt;
  const auto rest = std::from_chars(dash.ptr + 1, end, last);
  if (rest.ec != std::errc{} || rest.ptr != end || first < 1024 || first > last) return std::nullopt;
  return std::pair(first, last);
}

namespace {

std::string join(std::string_view path, const std::string& name) {
  return path.empty() ? name : std::string(path) + "." + name;
}

// A row for each field of T except its name.
template <class T>
void add_fields(const char* path, Reader reader, std::vector<Key>& keys) {
  const T defaults;
  for_each_field(defaults, [&]<class Member>(const auto& field, const Member&) {
    if (field.name != "name")
      keys.push_back({path + std::string(key_of(field.name)), form_of<Member>(), reader, field.about});
  });
}

std::vector<Key> all_keys() {
  using enum Form;
  using enum Reader;
  std::vector<Key> all = {
      {"$schema", kText, kEditors, "for editors: where the schema is"},
      {"classes", kObject, kSlurm, "the classes, by the name that people use"},
      {"classes.*", kObject, kSlurm, "one class"},
      {"classes.*.qos", kText, kSlurm, "its QoS in Slurm; unset: the same name"},
      {"classes.*.partition", kText, kPounced,
       "where its jobs run; unset: Slurm's default. plan tells of one that is not there"},
      {"classes.*.account", kText, kPounced, "whose account its jobs use; unset: the user's default"},
  };
  add_fields<Qos>("classes.*.", kSlurm, all);
  all.push_back({"leasing", kObject, kPounced, "how pounced holds leases"});
  add_fields<Leasing>("leasing.", kPounced, all);
  const std::vector<Key> others = {
      {"gpu_types", kObject, kPounced, "memory of each GPU type, by Slurm's name for it"},
      {"gpu_types.*", kMemory, kPounced, "its memory"},
      {"gpu_cuda", kObject, kPounced, "newest CUDA that each GPU type's driver runs, by Slurm's name for the type"},
      {"gpu_cuda.*", kVersion, kPounced, "its CUDA"},
      {"class_order", kTexts, kPounced,
       "classes to take where none is named, the first that fits; unset: all, the shortest walltime first"},
      {"fallbacks", kObject, kPounced,
       "by class: which are offered instead where it is full; nothing moves there by itself"},
      {"fallbacks.*", kTexts, kPounced, "classes, the best first"},
      {"slurm_options", kTexts, kPounced, "options of sbatch that people may pass on, without dashes"},
      {"prologue", kText, kPounced, "shell lines before each worker"},
      {"interpreter", kText, kPounced, "the workers' Python; `{home}` and `{user}` are replaced"},
      {"container", kText, kPounced, "what runs each worker: a command with `{command}` in it"},
      {"ports", kPorts, kPounced, "where workers listen"},
      {"interface", kText, kPounced, "the network interface that they listen at"},
      {"notify", kText, kPounced,
       "a program by its whole path, run as the user for who says --tell; it gets what has happened as JSON"},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = all_keys();
  return all;
}

std::string_view words_of(Form form) {
  switch (form) {
    case Form::kObject:
      return "an object";
    case Form::kDuration:
      return "a duration such as \"90s\", \"30min\", \"12h\" or \"7d\"";
    case Form::kMinutes:
      return "a duration of whole minutes such as \"30min\", \"12h\" or \"7d\", or as sbatch takes it, \"30\" or "
             "\"1-12:00:00\"";
    case Form::kCount:
      return "a whole number";
    case Form::kFlag:
      return "true or false";
    case Form::kText:
      return "a text";
    case Form::kTexts:
      return "a list of different texts";
    case Form::kMemory:
      return "an amount of memory such as \"40GB\"";
    case Form::kPorts:
      return "a range of ports such as \"50000-50999\"";
    case Form::kVersion:
      return "a version such as \"12.4\"";
  }
  return "";
}

std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  const std::string start = path.empty() ? std::string() : std::string(path) + ".";
  for (const Key& key : keys()) {
    if (!key.path.starts_with(start)) continue;
    const std::string rest(key.path.substr(start.size()));
    if (rest == "*") return {};
    if (rest.find('.') == std::string::npos) names.push_back(rest);
  }
  return names;
}

const Key* key_at(std::string_view path, const std::string& name) {
  for (const std::string& wanted : {join(path, name), join(path, "*")})
    for (const Key& key : keys())
      if (key.path == wanted && name != "*") return &key;
  return nullptr;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const auto best =
      std::ranges::min_element(candidates, {}, [&](const auto& other) { return edit_distance(word, other); });
  return best == candidates.end() ? std::string() : *best;
}

}  // namespace pounce::policy
