// How alike two words are: for "did you mean". Bytes are compared. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pounce {

// Letters to add, drop or replace, two neighbours to swap: the fewest that make one word of the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The nearest of them, as far as a slip of the finger may go: a third of the word; empty: none is so near.
std::string meant_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pounce
