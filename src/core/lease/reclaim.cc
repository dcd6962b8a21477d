#include "core/lease/reclaim.h"

#include <algorithm>
#include <optional>
#include <string>

namespace pounce::lease {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// What is missing of a request. GPUs of no named type may be of any.
struct Short {
  std::map<std::string, std::uint32_t> gpus;
  std::uint32_t any_gpu = 0;
  bool cpus = false, memory = false;

  bool nothing() const { return gpus.empty() && any_gpu == 0 && !cpus && !memory; }
  bool eased_by(const Room& room) const {
    for (const auto& [type, count] : room.gpus)
      if (count > 0 && (any_gpu > 0 || gpus.contains(type))) return true;
    return (cpus && room.cpus > 0) || (memory && room.memory_mib > 0);
  }
};

Short shortage(const Room& have, const Room& asked) {
  Short missing{{}, 0, have.cpus < asked.cpus, have.memory_mib < asked.memory_mib};
  std::uint32_t all = 0, wanted = 0;
  for (const auto& [type, count] : have.gpus) all += count;
  for (const auto& [type, count] : asked.gpus) {
    wanted += count;
    const auto there = have.gpus.find(type);
    const std::uint32_t typed = there == have.gpus.end() ? 0 : there->second;
    if (!type.empty() && typed < count) missing.gpus[type] = count - typed;
  }
  if (missing.gpus.empty() && all < wanted) missing.any_gpu = wanted - all;
  return missing;
}

void add(Room& sum, const Room& more) {
  for (const auto& [type, count] : more.gpus) sum.gpus[type] += count;
  sum.cpus += more.cpus;
  sum.memory_mib += more.memory_mib;
}

void take(Room& sum, const Room& gone) {
  const auto less = [](auto& have, auto by) { have -= std::min(have, by); };
  for (const auto& [type, count] : gone.gpus) {
    std::uint32_t left = count;
    for (auto& [have_type, have] : sum.gpus) {
      if (!type.empty() && have_type != type) continue;
      const std::uint32_t part = std::min(have, left);
      have -= part, left -= part;
    }
  }
  less(sum.cpus, gone.cpus);
  less(sum.memory_mib, gone.memory_mib);
}

// What is, or will be, free on each node, and what more could be.
class Plan {
 public:
  Plan(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm, const std::vector<SlurmJobId>& leaving)
      : look_(look), warm_(warm) {
    for (const NodeRoom& node : look.nodes) free_[node.name] = node.free;
    for (const RoomHeld& held : look.held)
      if (std::ranges::find(leaving, held.job.job) != leaving.end()) add(free_[held.node], held.room);
  }

  void serve(const RoomAsked& asked) {
    std::vector<std::pair<const NodeRoom*, std::vector<SlurmJobId>>> ways;
    for (const NodeRoom& node : look_.nodes) {
      if (!may_run_on(asked, node)) continue;
      if (auto going = fewest(node, asked.each)) ways.emplace_back(&node, std::move(*going));
    }
    std::ranges::sort(ways, {}, [](const auto& way) { return std::pair(way.second.size(), std::string_view(way.first->name)); });
    if (ways.size() > asked.nodes) ways.resize(asked.nodes);
    for (const auto& [node, going] : ways) {
      for (const SlurmJobId job : going) give(job);
      take(free_[node->name], asked.each);
    }
  }

  std::vector<SlurmJobId> all_given() const { return given_; }

 private:
  // Those that have to go for it on that node; nothing: all of them would not do.
  std::optional<std::vector<SlurmJobId>> fewest(const NodeRoom& node, const Room& asked) const {
    std::vector<SlurmJobId> going;
    for (const SlurmJobId job : warm_) {
      const Short missing = shortage(with(node, going), asked);
      if (missing.nothing()) break;
      if (!given(job) && missing.eased_by(held_on(node, job))) going.push_back(job);
    }
    if (!shortage(with(node, going), asked).nothing()) return std::nullopt;
    for (std::size_t i = 0; i < going.size();) {  // one that a later one makes superfluous stays
      std::vector<SlurmJobId> others = going;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      shortage(with(node, others), asked).nothing() ? std::swap(going, others) : void(++i);
    }
    return going;
  }

  Room held_on(const NodeRoom& node, SlurmJobId job) const {
    Room sum;
    for (const RoomHeld& held : look_.held)
      if (held.job.job == job && held.node == node.name) add(sum, held.room);
    return sum;
  }

  Room with(const NodeRoom& node, const std::vector<SlurmJobId>& going) const {
    Room sum = free_.at(node.name);
    for (const SlurmJobId job : going) add(sum, held_on(node, job));
    return sum;
  }

  bool given(SlurmJobId job) const { return std::ranges::find(given_, job) != given_.end(); }

  void give(SlurmJobId job) {
    if (given(job)) return;
    given_.push_back(job);
    for (const RoomHeld& held : look_.held)
      if (held.job.job == job) add(free_[held.node], held.room);
  }

  const QueueSnapshot& look_;
  const std::vector<SlurmJobId>& warm_;
  std::map<std::string, Room> free_;
  std::vector<SlurmJobId> given_;
};

}  // namespace

bool has_features(std::string_view expression, const std::vector<std::string>& features) {
  bool whole = true;  // all of this alternative so far
  std::string word;
  for (std::size_t i = 0; i <= expression.size(); ++i) {
    const char c = i < expression.size() ? expression[i] : '|';
    if (c == '&' || c == '|' || c == ',') {
      if (!word.empty()) whole = whole && contains(features, word.substr(0, word.find('*')));
      word.clear();
      if (c == '|' && whole) return true;
      if (c == '|') whole = true;
    } else if (std::string_view("[]() ").find(c) == std::string_view::npos) {
      word += c;
    }
  }
  return false;
}

bool may_run_on(const RoomAsked& asked, const NodeRoom& node) {
  const auto in_partition = [&](const std::string& name) { return contains(node.partitions, name); };
  if (std::ranges::none_of(asked.partitions, in_partition)) return false;
  if (!asked.only_nodes.empty() && !contains(asked.only_nodes, node.name)) return false;
  return !contains(asked.not_nodes, node.name) && has_features(asked.features, node.features);
}

std::vector<SlurmJobId> to_reclaim(const QueueSnapshot& look, const std::vector<SlurmJobId>& warm,
                                     const std::vector<SlurmJobId>& leaving) {
  Plan plan(look, warm, leaving);
  for (const RoomAsked& asked : look.waiting) plan.serve(asked);
  return plan.all_given();
}

}  // namespace pounce::lease
