// What pounced keeps of a detached task on disk: `record` in the task's folder, 0600, written by rename. It holds
// what is needed to run the task, and its outcome; never its data. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/messages.h"

namespace pounce::protocol {

struct DetachedRecord {
  int v = 1;
  std::string instance;
  DetachedRow row;
  OpenSession opened;
  Resources resources;
  std::uint32_t retries = 0;
  WorkerIndex worker;
  Epoch epoch;
  std::string key;

  static constexpr auto fields() {
    return table(field("v", &DetachedRecord::v),
                 field("instance", &DetachedRecord::instance, "whose pounced has it run"),
                 field("row", &DetachedRecord::row),
                 field("opened", &DetachedRecord::opened, "of the kernel that submitted it: interpreter, directory, environment"),
                 field("resources", &DetachedRecord::resources),
                 field("retries", &DetachedRecord::retries, "left"),
                 field("worker", &DetachedRecord::worker, "who was told to run it, and its interpreter then"),
                 field("epoch", &DetachedRecord::epoch),
                 field("key", &DetachedRecord::key, "that interpreter's: a job that is started a second time counts from the same epoch again"));
  }
};

// Implemented in codec.cc, the only file that knows JSON.
std::string encode_detached_record(const DetachedRecord& record);
std::optional<DetachedRecord> decode_detached_record(std::string_view text);

}  // namespace pounce::protocol
