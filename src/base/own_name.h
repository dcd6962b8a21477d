// Chooses a name for a folder of this user in a folder that all users can write to (/tmp, /var/tmp). Thread: any.
#pragma once

#include <string>

namespace pounce {

// True for a folder, not a link, that belongs to this user.
bool is_own_folder(const std::string& path);

// Returns `shared`/`name` if that is free or ours; otherwise a similar name that is ours; otherwise a name that
// cannot have been guessed, the same for the life of this process. Creates nothing.
std::string own_name_in(const std::string& shared, const std::string& name);

}  // namespace pounce
