// Text in columns: each as wide on a terminal as its widest cell, two spaces between them; empty columns are left
// out. Pure. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace pounce::ctl {

using Cells = std::vector<std::string>;

// The first row is the head. An empty cell is printed as "-". Ends with a line break.
std::string columns(const std::vector<Cells>& rows);

}  // namespace pounce::ctl
