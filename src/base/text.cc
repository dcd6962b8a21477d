#include "base/text.h"

#include <algorithm>
#include <cstdint>

namespace pounce {

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string row;
  for (const std::string& word : words) (row += &word == words.data() ? "" : separator) += word;
  return row;
}

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

namespace {

// The character at the front; bytes 0: it is not UTF-8 (RFC 3629: no overlong forms, no surrogates).
struct Character {
  std::uint32_t point = 0;
  std::size_t bytes = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
  std::uint32_t point = byte(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, bytes};
}

bool acts(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 ||
         (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

void escape(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    if (byte == '\n' || byte == '\t')
      out.append({'\\', byte == '\n' ? 'n' : 't'});
    else
      out.append({'\\', 'x', kDigits[value >> 4], kDigits[value & 15]});
  }
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }))
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const Character character = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (out.size() + bytes > most_bytes) return out.append("…");
    if (character.bytes == 0 || acts(character.point))
      escape(out, text.substr(0, bytes));
    else
      out.append(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace pounce
