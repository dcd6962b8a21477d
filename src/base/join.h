// Words in a row: "a, b, c". Nothing for no words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

// Of each element what `word` makes of it: a member or a function.
template <class Elements, class Word>
std::string joined(const Elements& elements, std::string_view separator, Word word) {
  std::vector<std::string> words;
  for (const auto& element : elements) words.emplace_back(std::invoke(word, element));
  return joined(words, separator);
}

}  // namespace pounce
