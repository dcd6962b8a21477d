// What a worker says of a task that its client asks after. Values only. Thread: any.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce {

// kForgotten: it ran there, and nothing of it is kept. kEnding: it came while the worker ends, which takes no more.
enum class RemoteTaskState : std::uint8_t { kUnknown, kQueued, kRunning, kDone, kForgotten, kEnding };
// A state that a later version adds is one that we do not know.
constexpr auto words(RemoteTaskState) {
  return words_of<RemoteTaskState>({"unknown", "queued", "running", "done", "forgotten", "ending"}, RemoteTaskState::kUnknown);
}

}  // namespace pounce
