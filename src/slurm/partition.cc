#include "slurm/partition.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace pounce::slurm {
namespace {

using Names = std::vector<std::string>;
using List = Names PartitionRules::*;

bool has(const Names& names, const std::string& name) { return std::ranges::count(names, name) > 0; }

bool lets_in(const PartitionRules& one, List allowed, List denied, const std::string& name) {
  return ((one.*allowed).empty() || has(one.*allowed, name)) && !has(one.*denied, name);
}

Error refusal(std::string text, std::string remedy) {
  return {ErrorCode::kRejected, std::move(text), std::move(remedy), {}};
}

std::string others(const std::vector<PartitionRules>& all, List allowed, List denied, const std::string& name) {
  Names open;
  for (const PartitionRules& one : all)
    if (lets_in(one, allowed, denied, name)) open.push_back(one.name);
  return open.empty() ? "no partition takes it" : "those that take it: " + joined(open);
}

// "partition gpu takes QoS day, night alone", or what the partition does not take.
std::string rule(const PartitionRules& one, List allowed, List denied, const std::string& things) {
  const std::string partition = "partition " + one.name;
  if (!(one.*allowed).empty()) return partition + " takes " + things + " " + joined(one.*allowed) + " alone";
  return partition + " does not take " + things + " " + joined(one.*denied);
}

}  // namespace

std::optional<Error> partition_refusal(Refused about, const std::vector<PartitionRules>& all,
                                       const PartitionRequest& request) {
  const auto found = std::ranges::find(all, request.partition, &PartitionRules::name);
  if (about == Refused::kName) {
    if (found != all.end() || all.empty()) return std::nullopt;
    return refusal("there is no partition '" + request.partition + "'; the partitions are " +
                       joined(all, ", ", &PartitionRules::name),
                   "The site's policy names it for this class (classes.*.partition): tell the admin.");
  }
  if (found == all.end()) return std::nullopt;
  if (about == Refused::kQos && !lets_in(*found, &PartitionRules::qos, &PartitionRules::not_qos, request.qos))
    return refusal(rule(*found, &PartitionRules::qos, &PartitionRules::not_qos, "QoS") +
                       "; asked for: " + request.class_words + "; " +
                       others(all, &PartitionRules::qos, &PartitionRules::not_qos, request.qos),
                   "Name a class that this partition takes, or a class with another partition.");
  if (about == Refused::kAccount &&
      !lets_in(*found, &PartitionRules::accounts, &PartitionRules::not_accounts, request.account))
    return refusal(rule(*found, &PartitionRules::accounts, &PartitionRules::not_accounts, "accounts") +
                       "; asked for: account '" + request.account + "'; " +
                       others(all, &PartitionRules::accounts, &PartitionRules::not_accounts, request.account),
                   "Name an account of yours that it takes (account=, or --account in a cell), or a class with another "
                   "partition.");
  if (about == Refused::kGroup && !found->groups.empty())
    return refusal(
        "partition " + found->name + " takes members of " + joined(found->groups) + " alone, and you are none of them",
        "Name a class with another partition, or ask the admin.");
  if (about == Refused::kTime && found->most_minutes > 0 && request.minutes > found->most_minutes)
    return Error{ErrorCode::kUnsatisfiable,
                 "partition " + found->name + " gives at most " + std::to_string(found->most_minutes) +
                     " minutes; asked for: " + std::to_string(request.minutes) + " minutes",
                 "Ask for less time, or for a class with another partition.",
                 {}};
  return std::nullopt;
}

namespace {

bool names(std::string_view partitions, std::string_view one) {
  while (!partitions.empty()) {
    const auto comma = partitions.find(',');
    if (partitions.substr(0, comma) == one) return true;
    if (comma == std::string_view::npos) return false;
    partitions.remove_prefix(comma + 1);
  }
  return false;
}

bool meet(std::string_view these, std::string_view those) {
  while (true) {
    const auto comma = these.find(',');
    if (names(those, these.substr(0, comma))) return true;
    if (comma == std::string_view::npos) return false;
    these.remove_prefix(comma + 1);
  }
}

bool goes_first(const InLine& other, const InLine& mine) {
  return other.priority > mine.priority || (other.priority == mine.priority && other.job < mine.job);
}

}  // namespace

std::int32_t jobs_ahead(const std::vector<InLine>& line, const InLine& mine) {
  return static_cast<std::int32_t>(std::ranges::count_if(line, [&](const InLine& other) {
    return other.job != mine.job && other.priority > 0 && goes_first(other, mine) &&
           meet(other.partitions, mine.partitions);
  }));
}

}  // namespace pounce::slurm
