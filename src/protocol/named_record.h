// What pounced remembers of a named task on disk: `record` in the task's folder, 0600, written by rename. It holds what is
// needed to have the task run, and what became of it; never what it computes with. Thread: any (values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/messages.h"

namespace pounce::protocol {

struct NamedRecord {
  int v = 1;
  std::string instance;  // whose pounced has it run
  NamedRow row;
  OpenSession opened;    // of the kernel that submitted it: interpreter, directory, environment
  Resources resources;
  std::uint32_t retries = 0;  // left
  WorkerIndex worker;         // who was told to run it, and its interpreter then
  Epoch epoch;
};

// Implemented in codec.cc, the only file that knows JSON.
std::string encode_named_record(const NamedRecord& record);
std::optional<NamedRecord> decode_named_record(std::string_view text);

}  // namespace pounce::protocol
