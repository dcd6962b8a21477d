// The error for a bad policy. Pure. Thread: any.
#pragma once

#include <string>
#include <utility>

#include "pounce/result.h"

namespace pounce::policy {

inline tl::unexpected<Error> bad(std::string text) { return failure(ErrorCode::kBadRequest, std::move(text)); }

}  // namespace pounce::policy
