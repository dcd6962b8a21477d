// Text in columns: as wide on a terminal as their widest cell, two spaces between, an empty column left out. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace pounce::ctl {

using Cells = std::vector<std::string>;

// The first row is the head. An empty cell shows as "-". Ends with a line break.
std::string columns(const std::vector<Cells>& rows);

}  // namespace pounce::ctl
