// The folder of this machine's pounced, running or not. Blocking: runs pounced to ask it. Thread: main.
#pragma once

#include <filesystem>

#include "pounce/result.h"

namespace pounce::ctl {

// That of this instance's last daemon or, after a reboot, of the newest instance beside it.
Result<std::filesystem::path> state_folder();

}  // namespace pounce::ctl
