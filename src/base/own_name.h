// A name in a folder where everybody may write (/tmp, /var/tmp), for a folder of this user. Thread: any.
#pragma once

#include <string>

namespace pounce {

// A folder, no link, that belongs to this user.
bool is_own_folder(const std::string& path);

// `shared`/`name`, while that is free or ours; else one like it that is ours; else one that nobody can have guessed, the
// same for the life of this process. Makes nothing.
std::string own_name_in(const std::string& shared, const std::string& name);

}  // namespace pounce
