// Text for people: words in a row, the nearest known word, and text of untrusted peers made printable. Thread: any.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

// Words in a row: "a, b, c". Nothing for no words.
std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

// Applies `word`, a member or a function, to each element.
template <class Elements, class Word>
std::string joined(const Elements& elements, std::string_view separator, Word word) {
  std::vector<std::string> words;
  for (const auto& element : elements) words.emplace_back(std::invoke(word, element));
  return joined(words, separator);
}

// How alike two words are: for "did you mean". Bytes are compared. Pure.

// The fewest operations that turn one word into the other: add, drop or replace a letter, or swap two neighbours.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The nearest candidate within the distance of a typing error, a third of the word; empty: none is near enough.
std::string meant_word(std::string_view word, const std::vector<std::string>& candidates);

// Text of untrusted peers for logs and terminals.
// Escapes everything that could control a terminal or look like another line: control characters, marks that change
// the writing direction and bytes that are not UTF-8 become \xNN, \n, \t. Cuts text over `most_bytes` and ends it
// with "…".
std::string printable(std::string_view text, std::size_t most_bytes = 4096);

}  // namespace pounce
