// The similarity of two words, for "did you mean". Compares bytes. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

// The fewest operations that turn one word into the other: add, drop or replace a letter, or swap two neighbours.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The nearest candidate within the distance of a typing error, a third of the word; empty: none is near enough.
std::string meant_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pounce
