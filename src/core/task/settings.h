// The task machine's numbers, each with its reason. Values only. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace pounce::task {

struct Settings {
  // Tasks in one worker at a time. One more would save a round trip, but waits there for whatever runs before it, and is
  // "may have executed" when the node is lost. So only short tasks are sent ahead, while at least as many others wait: a
  // worker whose tasks follow each other within `short_task` gets twice as many, up to this; one that takes longer, one.
  // Where a request has several workers each has one: what was sent ahead to one could not go to another that is free first.
  std::uint32_t window = 32;
  Duration short_task = std::chrono::milliseconds(2);
  // New waiting work is told at once, but not more often than this: a loop of submits is one or two messages.
  Duration demand_pause = std::chrono::milliseconds(20);
  // Everything else (running, done) can wait this long, which keeps pounced off the path of short tasks.
  Duration demand_delay = std::chrono::milliseconds(200);
  // What waits is told again so often. A kernel that was stopped for longer than pounced's orphan_grace is forgotten there
  // and cannot know it: without this it would wait for ever.
  Duration demand_repeat = std::chrono::seconds(30);
  // A worker that neither we nor the daemon have heard of for so long has ended itself: its watchdog
  // (docs/states.md, watchdog_busy_s, 15 min) has passed. Before that its tasks may still be running.
  Duration fenced_after = std::chrono::minutes(16);
  // A pool's lease is thought to take so long to arrive until one has; never less than `least_start`, which is what Slurm and the
  // start of Python cost anybody.
  Duration usual_start = std::chrono::seconds(2);
  Duration least_start = std::chrono::milliseconds(500);
  // How long its tasks take is only known by and by: while some run and others wait, it is looked at again.
  Duration replan = std::chrono::seconds(1);
  // A worker out of reach for so long is told to the user. Not at once: the death of a worker cuts its connection
  // first and is told with its cause right after; that of a job, when Slurm knows it, a few seconds later.
  Duration unreachable_after = std::chrono::seconds(5);
};

}  // namespace pounce::task
