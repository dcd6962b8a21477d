// Joins words: "a, b, c". Empty for no words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

// Applies `word`, a member or a function, to each element.
template <class Elements, class Word>
std::string joined(const Elements& elements, std::string_view separator, Word word) {
  std::vector<std::string> words;
  for (const auto& element : elements) words.emplace_back(std::invoke(word, element));
  return joined(words, separator);
}

}  // namespace pounce
