#include "core/forecast/choices.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace pounce::forecast {
namespace {

const ClassUse* class_of(const ClassReport& report, const std::string& name) {
  const auto found = std::ranges::find_if(
      report.classes, [&](const ClassUse& one) { return name.empty() ? one.preset : one.name == name; });
  return found == report.classes.end() ? nullptr : &*found;
}

// The class limit that such a request would meet. The waiting request itself is not counted: it runs nowhere.
Cause limit_against(const Resources& asks, const ClassUse& use) {
  const auto limit = [&](CauseCode code, std::int64_t most, std::int64_t used = 0) {
    return Cause{.code = code,
                 .number = static_cast<std::uint32_t>(most),
                 .used = static_cast<std::uint32_t>(used),
                 .word = use.name};
  };
  const auto gpus = static_cast<std::int64_t>(asks.all_gpus());
  if (gpus > 0 && (use.gpus_job == 0 || use.gpus_most == 0)) return limit(CauseCode::kClassWithoutGpu, 0);
  if (use.gpus_job >= 0 && gpus > use.gpus_job) return limit(CauseCode::kClassGpusOfJob, use.gpus_job);
  if (use.gpus_most >= 0 && gpus > use.gpus_most) return limit(CauseCode::kClassGpusOfUser, use.gpus_most);
  if (use.time_min >= 0 && asks.time.count() > use.time_min)
    return {.code = CauseCode::kClassTime, .time = std::chrono::minutes(use.time_min), .word = use.name};
  if (use.jobs_most >= 0 && use.jobs_used >= use.jobs_most)
    return limit(CauseCode::kClassJobsTaken, use.jobs_most, use.jobs_used);
  if (use.gpus_most >= 0 && gpus > 0 && use.gpus_used + gpus > use.gpus_most)
    return limit(CauseCode::kClassGpusTaken, use.gpus_most, use.gpus_used);
  return {};
}

// Tells of one request whether there is room for it now, or when there will be.
class Room {
 public:
  Room(const ClassReport& report, const HasRoom& has_room) : report_(report), has_room_(has_room) {}

  void put(Choice& choice) const {
    if (const ClassUse* use = class_of(report_, choice.resources.class_name))
      choice.cause = limit_against(choice.resources, *use);
    if (choice.cause) return;
    choice.now = has_room_(choice.resources);
    if (!choice.now) choice.eta = soonest(choice.resources);
  }

 private:
  Eta soonest(const Resources& asks) const {
    if (asks.all_gpus() == 0) return report_.cpu_eta;
    Eta soonest;
    if (asks.all_gpus() > 1) return soonest;  // nothing is known of several at once
    for (const GpuUse& use : report_.gpus) {
      if (!asks.gpu_type.empty() && use.type != asks.gpu_type) continue;
      if (use.eta.known() && (!soonest.known() || use.eta.start_s < soonest.start_s)) soonest = use.eta;
    }
    return soonest;
  }

  const ClassReport& report_;
  const HasRoom& has_room_;
};

std::string gpu_option(const std::string& type, std::uint32_t count) {
  if (type.empty()) return std::to_string(count);
  return count == 1 ? type : type + ":" + std::to_string(count);
}

Choice choice_of(const char* kind, std::string option, const Resources& resources) {
  return {kind, std::move(option), resources};
}

// The classes that the site's policy names for when this one is full, the best first; all classes where it names
// none.
std::vector<std::string> other_classes(const Resources& asks, const ClassReport& report) {
  const ClassUse* now = class_of(report, asks.class_name);
  std::vector<std::string> names;
  for (const ClassUse& use : report.classes)
    if (now == nullptr || use.name != now->name) names.push_back(use.name);
  if (now == nullptr || now->instead.empty()) return names;
  std::vector<std::string> named;
  for (const std::string& name : now->instead)
    if (std::ranges::find(names, name) != names.end()) named.push_back(name);
  return named;
}

std::vector<Choice> others(const Resources& asks, const LimitUse& limit, const ClassReport& report) {
  std::vector<Choice> found;
  for (const GpuUse& use : report.gpus) {
    if (asks.gpus == 0 || use.type.empty() || use.type == asks.gpu_type || use.total < asks.all_gpus()) continue;
    Resources other = asks;
    other.gpu_type = use.type;
    if (!asks.gpu_type.empty()) found.push_back(choice_of("gpu", gpu_option(use.type, asks.gpus), other));
  }
  if (asks.gpus > 0) {
    Resources other = asks;
    other.gpus = 0;
    other.gpu_type.clear();
    found.push_back(choice_of("cpu", "cpu", other));
  }
  if (limit.what.empty()) return found;  // what is in use is in use for every class
  for (const std::string& name : other_classes(asks, report)) {
    Resources other = asks;
    other.class_name = name;
    found.push_back(choice_of("class", "class=" + name, other));
  }
  return found;
}

// Choices that start now come first, then those with a known start, then the rest; one that a limit forbids comes
// last. Other GPUs come before none, and none before another class.
std::tuple<bool, bool, std::int64_t, int> order(const Choice& choice) {
  const std::int64_t start = choice.eta.known() ? choice.eta.start_s : std::numeric_limits<std::int64_t>::max();
  const int kind = choice.kind == "gpu" ? 0 : choice.kind == "cpu" ? 1 : 2;
  return {static_cast<bool>(choice.cause), !choice.now, start, kind};
}

// Sorts and keeps the order of equals.
std::vector<Choice> in_order(std::vector<Choice> all) {
  std::vector<std::pair<decltype(order(all[0])), std::size_t>> keys;
  for (std::size_t place = 0; place < all.size(); ++place) keys.emplace_back(order(all[place]), place);
  std::ranges::sort(keys);
  std::vector<Choice> sorted;
  for (const auto& [key, place] : keys) sorted.push_back(std::move(all[place]));
  return sorted;
}

}  // namespace

std::vector<Choice> choices(const Resources& asks, const LimitUse& limit, const Eta& eta, const ClassReport& report,
                            const HasRoom& has_room) {
  std::vector<Choice> all = others(asks, limit, report);
  for (Choice& choice : all) Room(report, has_room).put(choice);
  all = in_order(std::move(all));
  Choice wait = choice_of("wait", "", asks);
  wait.eta = eta;
  all.insert(all.begin(), wait);
  all.push_back(choice_of("cancel", "cancel", asks));
  return all;
}

}  // namespace pounce::forecast
