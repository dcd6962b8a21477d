// Files and folders that only root and this user can have put where they are. The way there is walked component by
// component, by descriptor: each folder is root's or ours and nobody else may write in it, but for folders with the sticky
// bit (/tmp), where others cannot touch what is ours; each link is root's or ours and is followed under the same rules. A
// group that is ours alone (of our name, without other members) counts as us. Thread: any, one at a time (the user database
// is asked); blocks as the file system does.
#pragma once

#include <cstddef>
#include <string>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce {

// Absolute paths. The error names the component and what is wrong with it; its remedy, where there is one, has no full stop.
Result<UniqueFd> open_trusted_folder(const std::string& path);

// A regular file of ours or root's that nobody else may write. Longer than `most_bytes`: an error.
Result<std::string> read_trusted_file(const std::string& path, std::size_t most_bytes);

}  // namespace pounce
