// Files and folders that only root and this user can have put where they are, also in folders where all users may
// write.
#pragma once

#include <cstddef>
#include <string>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce {

// A name in a folder where every user may write (/tmp, /var/tmp), for a folder of this user. Thread: any.

// True for a folder, not a link, that belongs to this user.
bool is_own_folder(const std::string& path);

// Returns `shared`/`name` if that is free or ours; otherwise a similar name that is ours; otherwise a name that
// cannot have been guessed, the same for the life of this process. Creates nothing.
std::string own_name_in(const std::string& shared, const std::string& name);

// The way to a trusted file is walked component by component, by descriptor: each folder is root's or ours and no other
// user may write in it, but for folders with the sticky bit (/tmp), where others cannot touch what is ours; each link
// is root's or ours and is followed under the same rules. A group that is ours alone (of our name, without other
// members) counts as us. Thread: any, one at a time (the user database is read); blocks as the file system does.

// Takes absolute paths. The error names the component and its fault; a remedy, if any, has no full stop.
Result<UniqueFd> open_trusted_folder(const std::string& path);

// A regular file of ours or root's that no other user may write. Longer than `most_bytes`: an error.
Result<std::string> read_trusted_file(const std::string& path, std::size_t most_bytes);

}  // namespace pounce
