// Opens files and folders that belong to this user and that no other user may write to, by name in an open folder,
// never through a link. Thread: any; blocks as the file system does.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::parked {

// Open for reading. kBadRequest tells what is wrong.
Result<UniqueFd> open_own_folder(int at, const std::string& name);
Result<UniqueFd> open_own_file(int at, const std::string& name);

}  // namespace pounce::parked
