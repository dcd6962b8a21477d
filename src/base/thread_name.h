// Names the calling thread for ps, gdb and perf; Linux keeps 15 characters.
#pragma once

#include <pthread.h>

namespace pounce {

inline void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace pounce
