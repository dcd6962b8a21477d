// This user's saved states on this cluster; needs no running pounced. Blocking. Thread: main.
#pragma once

#include <optional>
#include <vector>

#include "parked/parked_folder.h"
#include "pouncectl/parked_row.h"

namespace pounce::ctl {

// nullopt: nothing was ever saved here.
Result<std::optional<parked::ParkedFolder>> parked_folder();

// Newest first; includes unreadable states with the reason.
std::vector<ParkedRow> parked_rows(const parked::ParkedFolder& folder);

}  // namespace pounce::ctl
