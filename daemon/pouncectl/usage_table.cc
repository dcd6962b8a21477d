#include "pouncectl/usage_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace pounce::ctl {
namespace {

const std::string& key_part(const UsedShare& share, const std::string& by) {
  if (by == "class") return share.class_name;
  return by == "user" ? share.user : share.mode;
}

std::string hours(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  return text;
}

std::string percent(double part, double whole) { return std::to_string(std::lround(100 * part / whole)) + " %"; }

// The busy part of the known GPU time, and the known part if it is not all. "said": reported by jobs, not measured.
std::string busy(const UsedShare& share) {
  if (share.told_s <= 0) return {};
  const std::string words = percent(share.busy_s, share.told_s) + (share.said_s > 0 ? " said" : "");
  return share.told_s < 0.99 * share.gpu_s ? words + " (known of " + percent(share.told_s, share.gpu_s) + ")" : words;
}

void add(UsedShare& sum, const UsedShare& one) {
  sum.jobs += one.jobs;
  sum.gpu_s += one.gpu_s;
  sum.cpu_s += one.cpu_s;
  sum.told_s += one.told_s;
  sum.said_s += one.said_s;
  sum.busy_s += one.busy_s;
}

}  // namespace

std::vector<UsedShare> grouped(const std::vector<UsedShare>& shares, const std::vector<std::string>& by) {
  std::map<std::vector<std::string>, UsedShare> groups;
  for (const UsedShare& share : shares) {
    std::vector<std::string> key;
    for (const std::string& one : by) key.push_back(key_part(share, one));
    UsedShare& group = groups[key];
    group.user = share.user, group.class_name = share.class_name, group.mode = share.mode;
    add(group, share);
  }
  std::vector<UsedShare> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::greater(), &UsedShare::gpu_s);
  return sorted;
}

std::vector<Cells> usage_cells(const std::vector<UsedShare>& shares, const std::vector<std::string>& by) {
  Cells head;
  for (const std::string& one : by) head.push_back(one == "class" ? "CLASS" : one == "user" ? "USER" : "MODE");
  for (const char* name : {"JOBS", "CPU TIME", "GPU TIME", "GPU BUSY"}) head.emplace_back(name);
  std::vector<Cells> cells = {head};
  for (const UsedShare& share : grouped(shares, by)) {
    Cells row;
    for (const std::string& one : by) row.push_back(key_part(share, one));
    row.insert(row.end(), {std::to_string(share.jobs), hours(share.cpu_s), share.gpu_s > 0 ? hours(share.gpu_s) : "",
                           busy(share)});
    cells.push_back(std::move(row));
  }
  return cells;
}

std::string idle_line(const std::vector<UsedShare>& shares) {
  UsedShare leased;
  for (const UsedShare& share : shares)
    if (share.mode == kOffload) add(leased, share);
  if (leased.gpu_s <= 0) return {};
  const std::string line = "pounce leased " + hours(leased.gpu_s) + " of GPU time";
  if (leased.told_s <= 0) return line + "; how much of it was warm but idle is not known";
  std::string known = leased.told_s < 0.99 * leased.gpu_s ? ", as far as it is known (" + percent(leased.told_s, leased.gpu_s) + ")" : "";
  return line + ": " + percent(leased.busy_s, leased.told_s) + " computing, " +
         percent(leased.told_s - leased.busy_s, leased.told_s) + " warm but idle" + known +
         (leased.said_s > 0 ? ", said by the jobs themselves" : "");
}

}  // namespace pounce::ctl
