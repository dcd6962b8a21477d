#include "pounced/startup/config.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/trusted_path.h"
#include "pounced/startup/folders.h"

namespace pounce::daemon {
namespace {

using nlohmann::json;

constexpr double kLongestSeconds = 366.0 * 86400;
constexpr std::size_t kMostBytes = 1 << 20;  // of the file

tl::unexpected<Error> bad(const std::string& text) { return failure(ErrorCode::kBadRequest, "configuration: " + text); }

std::string valid_keys() {
  std::string list;
  const auto add = [&](std::string_view name) { list += (list.empty() ? "" : ", ") + std::string(name); };
  const Config defaults;
  for_each_field(defaults, [&](const auto& field, const auto&) { add(field.name); });
  for (const lease::ConfigKey& key : lease::kConfigKeys) add(key.name);
  return list;
}

Result<std::uint32_t> whole_number(const std::string& name, const json& value, std::uint32_t least) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > 1'000'000)
    return bad(name + " is a whole number of at least " + std::to_string(least));
  return value.get<std::uint32_t>();
}

Result<void> take_time(const lease::ConfigKey& key, const json& value, Config& config) {
  const std::string name(key.name);
  const double scale = key.in_seconds() ? 1000.0 : 1.0;
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() * scale > kLongestSeconds * 1000)
    return bad(name + " is a number of " + (key.in_seconds() ? "seconds" : "milliseconds") + " from 0 to a year");
  for (const std::string_view poll : {"poll_min_s", "poll_max_s", "warm_poll_s"})
    if (name == poll && value.get<double>() < 0.1) return bad(name + " is at least 0.1: Slurm is everybody's");
  config.times.*key.time = std::chrono::milliseconds(std::llround(value.get<double>() * scale));
  return {};
}

Result<void> take_lease_key(const lease::ConfigKey& key, const json& value, Config& config) {
  if (key.time != nullptr) return take_time(key, value, config);
  const auto number = whole_number(std::string(key.name), value, key.least);
  if (!number) return failure(number.error());
  config.times.*key.number = *number;
  return {};
}

Result<void> take_value(const std::string& name, const json& value, std::string& text) {
  if (!value.is_string()) return bad(name + " is a text");
  text = value.get<std::string>();
  return {};
}
Result<void> take_value(const std::string& name, const json& value, std::uint32_t& number) {
  const auto taken = whole_number(name, value, 0);
  if (!taken) return failure(taken.error());
  number = *taken;
  return {};
}
Result<void> take_value(const std::string& name, const json& value, std::optional<LauncherKind>& launcher) {
  if (value.is_string()) launcher = words(LauncherKind{}).from(value.get<std::string>());
  if (!launcher) return bad(name + " is \"slurm\" or \"local\"");
  return {};
}

Result<void> take_value(const std::string& name, const json& value, std::vector<ConfigNode>& nodes) {
  if (!value.is_array()) return bad(name + " is a list of nodes");
  for (const json& entry : value) {
    Result<void> taken = entry.is_object() ? Result<void>{} : bad(name + " is a list of nodes");
    std::size_t known = 0;
    for_each_field(nodes.emplace_back(), [&](const auto& field, auto& member) {
      if (!taken || !entry.contains(field.name)) return;
      taken = take_value(name + "." + std::string(field.name), entry.at(field.name), member);
      ++known;
    });
    if (!taken) return taken;
    if (known < entry.size()) return bad("a node in " + name + " has a key that is not known");
  }
  return {};
}

Result<void> take(const std::string& name, const json& value, Config& config) {
  std::optional<Result<void>> taken;
  for_each_field(config, [&](const auto& field, auto& member) {
    if (field.name == name) taken = take_value(name, value, member);
  });
  if (taken) return *taken;
  for (const lease::ConfigKey& key : lease::kConfigKeys)
    if (name == key.name) return take_lease_key(key, value, config);
  return bad("unknown key \"" + name + "\"; the keys are " + valid_keys());
}

// The file names programs that we start and the policy whose prologue a shell runs, so no other user may have written
// it.
Result<Config> read_config(const std::string& path) {
  const std::string whole = std::filesystem::absolute(path).string();
  const auto text = read_trusted_file(whole, kMostBytes);
  if (!text) return failure(ErrorCode::kBadRequest, "configuration: " + text.error().text, text.error().remedy + ".");
  auto config = parse_config(*text);
  if (!config) return bad(path + ": " + config.error().text.substr(std::string("configuration: ").size()));
  config->path = whole;
  return config;
}

}  // namespace

Result<Config> parse_config(std::string_view text) {
  const auto document = json::parse(text, nullptr, false, true);
  if (document.is_discarded()) return bad("this is not JSON (// and /* */ comments are allowed)");
  if (!document.is_object()) return bad("it is not a JSON object");
  Config config;
  for (const auto& [name, value] : document.items())
    if (const auto taken = take(name, value, config); !taken)
      return failure(taken.error());
    else
      config.said.insert(name);
  if (config.times.poll_min > config.times.poll_max) return bad("poll_min_s is more than poll_max_s");
  return config;
}

Result<Config> load_config(const std::string& named) {
  if (!named.empty()) return read_config(named);
  if (const char* from_environment = std::getenv("POUNCE_CONFIG"); from_environment != nullptr && *from_environment)
    return read_config(from_environment);
  std::error_code unreadable;  // a folder that cannot be looked into holds no configuration for us
  for (const std::string& path :
       {home_folder() + "/.config/pounce/pounced.json", std::string("/etc/pounce/pounced.json")})
    if (std::filesystem::exists(path, unreadable)) return read_config(path);
  return Config{};
}

}  // namespace pounce::daemon
