#include "slurm/line.h"

#include <algorithm>
#include <string_view>

namespace pounce::slurm {
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
    return other.job != mine.job && other.priority > 0 && goes_first(other, mine) && meet(other.partitions, mine.partitions);
  }));
}

}  // namespace pounce::slurm
