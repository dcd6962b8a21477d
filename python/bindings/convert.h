// Converts our errors to Python exceptions, and calls functions without the GIL.
#pragma once

#include <pybind11/pybind11.h>

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

}  // namespace pounce
