// Small files written so that a reader sees the old content or the new, never a part. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pounce/result.h"

namespace pounce::daemon {

// A 0600 temporary beside it, fsync, rename, fsync of the folder.
Result<void> replace_file(const std::string& path, std::string_view content);

// Our own file only: no link followed, owner checked. nullopt: there is none, or it is not ours.
std::optional<std::string> read_own_file(const std::string& path);

}  // namespace pounce::daemon
