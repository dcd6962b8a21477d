// SIGTERM of an interpreter. The batch system sends it to every process of a job that it ends. The supervisor gets it
// too, and ends the interpreter in order, with time to save. Thread: main.
#pragma once

namespace pounce::worker {

// From here on SIGTERM ends this process only if its supervisor or the process itself sent it. It ends forked
// children whatever its sender. User code may replace the handler (signal.signal); an executed program has the
// default.
void leave_termination_to_supervisor();

}  // namespace pounce::worker
