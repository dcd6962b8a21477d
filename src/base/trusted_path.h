// Opens files and folders that only root and this user can have put in place. The path is walked component by
// component, by descriptor. Each folder must be root's or ours and writable for no other user, except for folders
// with the sticky bit (/tmp), where others cannot touch our files. Each link must be root's or ours and is followed
// under the same rules. A group that is ours alone (of our name, without other members) counts as us. Thread: any,
// one at a time (it reads the user database); blocks as the file system does.
#pragma once

#include <cstddef>
#include <string>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce {

// Takes absolute paths. The error names the component and its fault; a remedy, if any, has no full stop.
Result<UniqueFd> open_trusted_folder(const std::string& path);

// A regular file of ours or root's that no other user may write. Longer than `most_bytes`: an error.
Result<std::string> read_trusted_file(const std::string& path, std::size_t most_bytes);

}  // namespace pounce
