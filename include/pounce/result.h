// Result<T>: a value or an Error. Expected outcomes travel as values; exceptions are for start-up failures.
// A thin name over tl::expected, which C++23's std::expected will replace.
#pragma once

#include <tl/expected.hpp>

#include "pounce/error.h"

namespace pounce {

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(ErrorCode code, std::string text, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{code, std::move(text), std::move(remedy), {}});
}
inline tl::unexpected<Error> failure(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace pounce
