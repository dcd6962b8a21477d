// The saved states of this user on this cluster, also when no pounced runs. Blocking. Thread: main.
#pragma once

#include <optional>
#include <vector>

#include "parked/parked_folder.h"
#include "pouncectl/parked_row.h"

namespace pounce::ctl {

// nullopt: nothing was ever saved here.
Result<std::optional<parked::ParkedFolder>> parked_folder();

// The newest first; those of which nothing can be read too, with the reason.
std::vector<ParkedRow> parked_rows(const parked::ParkedFolder& folder);

}  // namespace pounce::ctl
