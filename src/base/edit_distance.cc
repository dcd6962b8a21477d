#include "base/edit_distance.h"

#include <algorithm>

namespace pounce {

// Levenshtein's distance with swaps ("optimal string alignment"); the last three rows of its table are enough.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> two_ago, last(to.size() + 1), row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    two_ago = std::move(last);
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], two_ago[j - 2] + 1);
    }
  }
  return row.back();
}

std::string meant_word(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [word](const std::string& other) { return edit_distance(word, other); };
  const auto best = std::ranges::min_element(candidates, {}, distance);
  return best == candidates.end() || distance(*best) > (word.size() + 2) / 3 ? std::string() : *best;
}

}  // namespace pounce
