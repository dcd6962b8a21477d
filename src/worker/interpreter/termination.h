// SIGTERM of an interpreter. The batch system sends it to every process of a job that it ends; our supervisor gets it too, and
// ends us in order, with time to save. Thread: main.
#pragma once

namespace pounce::worker {

// From here on SIGTERM ends this process where its supervisor or the process itself sent it, and its forked children where
// anybody did; else it does nothing. User code may replace it (signal.signal), a program that is executed has the default.
void leave_termination_to_supervisor();

}  // namespace pounce::worker
