// The names of a value's entries in the order of JSON objects, and the text before each, computed at compile time:
// shared by plain_writer.h and plain_reader.h. Thread: any (constants).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "pounce/fields.h"

namespace pounce::protocol {

namespace plain {

// A message's own entries, its type and the protocol's version, are sorted among its fields.
template <class T>
concept IsMessage = HasFields<T> && requires { T::kType; };

template <HasFields T>
constexpr auto names() {
  constexpr std::size_t kCount = kFieldCount<T>;
  std::array<std::string_view, kCount + (IsMessage<T> ? 2 : 0)> all{};
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) { ((all[kAt] = kField<T, kAt>.name), ...); }(std::make_index_sequence<kCount>());
  if constexpr (IsMessage<T>) all[kCount] = "type", all[kCount + 1] = "v";
  return all;
}

// Indices into names(), in the order of JSON objects.
template <HasFields T>
constexpr auto sorted() {
  constexpr auto kNames = names<T>();
  std::array<std::size_t, kNames.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t place) { return kNames[place]; });
  return order;
}

// `,"name":`
template <HasFields T, std::size_t kPlace>
constexpr auto key() {
  constexpr std::string_view kName = names<T>()[kPlace];
  std::array<char, kName.size() + 4> text{',', '"'};
  std::ranges::copy(kName, text.begin() + 2);
  text[kName.size() + 2] = '"';
  text[kName.size() + 3] = ':';
  return text;
}
template <HasFields T, std::size_t kPlace>
inline constexpr auto kKey = key<T, kPlace>();

constexpr bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

// Calls do_it.operator()<kPlace>() for each entry in order, while it returns true.
template <HasFields T, class Do>
bool in_order(Do&& do_it) {
  return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    constexpr auto kOrder = sorted<T>();
    return (do_it.template operator()<kOrder[kAt]>() && ...);
  }(std::make_index_sequence<names<T>().size()>());
}

}  // namespace plain

}  // namespace pounce::protocol
