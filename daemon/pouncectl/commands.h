// pouncectl's commands. Each prints to standard output and returns the exit code of docs in main.cc's --help.
#pragma once

namespace pounce::ctl {

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2, kNoDaemon = 3;

int version(bool json);
int status(bool json);
int queue(bool json);

}  // namespace pounce::ctl
