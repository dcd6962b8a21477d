// A worker's answer about the state of a task. Values only. Thread: any.
#pragma once

#include <cstdint>

#include "pounce/fields.h"

namespace pounce {

// kForgotten: it ran there, and its result is gone. kEnding: it came while the worker ends, which accepts no more.
enum class RemoteTaskState : std::uint8_t { kUnknown, kQueued, kRunning, kDone, kForgotten, kEnding };
// An unknown state of a later version reads as kUnknown.
constexpr auto words(RemoteTaskState) {
  return words_of<RemoteTaskState>({"unknown", "queued", "running", "done", "forgotten", "ending"}, RemoteTaskState::kUnknown);
}

}  // namespace pounce
