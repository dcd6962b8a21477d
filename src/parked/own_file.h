// Files and folders of this user's that nobody else may write to, opened by name in a folder that is open, never through a
// link. Thread: any; blocks as the file system does.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::parked {

// For reading. kBadRequest says what is wrong with it.
Result<UniqueFd> open_own_folder(int at, const std::string& name);
Result<UniqueFd> open_own_file(int at, const std::string& name);

}  // namespace pounce::parked
