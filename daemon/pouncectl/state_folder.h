// Where this machine's pounced keeps its files, also when none runs. Blocking: asks the program. Thread: main.
#pragma once

#include <filesystem>

#include "pounce/result.h"

namespace pounce::ctl {

// Of this instance's last daemon, or (after a reboot) of the newest instance beside it.
Result<std::filesystem::path> state_folder();

}  // namespace pounce::ctl
