#include "pouncectl/policy_request.h"

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/durations.h"
#include "base/join.h"
#include "job/request_bounds.h"
#include "policy/amounts.h"
#include "policy/policy_keys.h"

namespace pounce::ctl {
namespace {

using nlohmann::json;
using policy::cuda_from;
using policy::mib_from;

// Returns false for a value of the wrong type.
using Take = std::function<bool(const json&, Resources&)>;

Take count(std::uint32_t Resources::*field) {
  return [field](const json& value, Resources& resources) {
    if (!value.is_number_unsigned() || !std::in_range<std::uint32_t>(value.get<std::uint64_t>())) return false;
    resources.*field = value.get<std::uint32_t>();
    return true;
  };
}

Take text(std::string Resources::*field) {
  return [field](const json& value, Resources& resources) {
    if (value.is_string()) resources.*field = value.get<std::string>();
    if (!value.is_array()) return value.is_string();
    std::vector<std::string> list;  // in order of preference
    for (const json& one : value) {
      if (!one.is_string()) return false;
      list.push_back(one.get<std::string>());
    }
    resources.*field = joined(list, ",");
    return true;
  };
}

// ">=20GB" means "20GB": these are lower bounds.
std::string bound(const json& value) {
  if (value.is_number()) return value.dump();
  std::string written = value.is_string() ? value.get<std::string>() : "";
  if (written.starts_with(">=")) written.erase(0, 2);
  return written;
}

Take memory(std::uint64_t Resources::*field) {
  return [field](const json& value, Resources& resources) {
    const auto mib = mib_from(bound(value));
    resources.*field = mib.value_or(0);
    return mib.has_value();
  };
}

bool take_cuda(const json& value, Resources& resources) {
  const auto version = cuda_from(bound(value));
  resources.cuda = version.value_or(0);
  return version.has_value();
}

bool take_time(const json& value, Resources& resources) {
  const auto seconds = value.is_string() ? time_limit_s(value.get<std::string>()) : std::nullopt;
  if (!seconds || *seconds > std::chrono::seconds(kMostTime).count()) return false;
  resources.time = std::chrono::minutes(static_cast<std::int64_t>(std::ceil(*seconds / 60)));
  return true;
}

bool take_slurm(const json& value, Resources& resources) {
  if (!value.is_object()) return false;
  for (const auto& [name, one] : value.items()) resources.slurm[name] = one.is_string() ? one.get<std::string>() : one.dump();
  return true;
}

const std::map<std::string, Take>& words() {
  static const std::map<std::string, Take> all = {{"class", text(&Resources::class_name)},
                                                  {"gpus", count(&Resources::gpus)},
                                                  {"gpu_type", text(&Resources::gpu_type)},
                                                  {"gpu_memory", memory(&Resources::gpu_memory_mib)},
                                                  {"cuda", take_cuda},
                                                  {"cpus", count(&Resources::cpus)},
                                                  {"memory", memory(&Resources::memory_mib)},
                                                  {"time", take_time},
                                                  {"workers", count(&Resources::workers)},
                                                  {"account", text(&Resources::account)},
                                                  {"slurm", take_slurm}};
  return all;
}

}  // namespace

Result<Resources> request_from(const std::string& text) {
  const auto document = json::parse(text, nullptr, false);
  if (!document.is_object())
    return failure(ErrorCode::kBadRequest, "the request is no JSON object", "Write it as {\"gpus\": 1, \"time\": \"20min\"}.");
  Resources resources;
  for (const auto& [name, value] : document.items()) {
    std::vector<std::string> names;
    for (const auto& [word, take] : words()) names.push_back(word);
    const auto known = words().find(name);
    if (known == words().end())
      return failure(ErrorCode::kBadRequest,
                     "a request has no \"" + name + "\"; did you mean \"" + policy::nearest(name, names) + "\"?");
    if (!known->second(value, resources))
      return failure(ErrorCode::kBadRequest, "the request's \"" + name + "\" cannot be " + value.dump());
  }
  const bool needs_gpu = !resources.gpu_type.empty() || resources.gpu_memory_mib > 0 || resources.cuda > 0;
  if (needs_gpu && !document.contains("gpus")) resources.gpus = 1;
  if (const auto possible = job::check_bounds(resources); !possible) return failure(possible.error());
  return resources;
}

}  // namespace pounce::ctl
