// Errors of ours as Python exceptions, ids from Python's bytes and words, calls without the GIL.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bindings.h"
#include "pounce/error.h"
#include "pounce/result.h"

namespace pounce {

// With the GIL: throws the exception class of that code (python/pounce/errors.py).
[[noreturn]] void raise_error(const Error& error);

template <class T>
T value_of(Result<T> result) {
  if (!result) raise_error(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class Act>
auto without_gil(Act act) {
  auto result = [&] {
    const WithoutGil released;
    return act();
  }();
  return value_of(std::move(result));
}

template <class Id>
Id to_id(std::string_view bytes) {
  std::array<std::uint8_t, Id::kBytes> id{};
  if (bytes.size() != id.size()) throw pybind11::value_error("an id has " + std::to_string(id.size()) + " bytes");
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return Id(id);
}

template <class Id>
Id hex_to_id(const std::string& hex) {
  const auto id = Id::from_hex(hex);
  if (!id) throw pybind11::value_error("not an id: " + hex);
  return *id;
}

}  // namespace pounce
