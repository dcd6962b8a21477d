// What tests/gpu/run measures of a kind of device, as JSON for it to judge: each number is the best of its rounds, and
// what came is compared. Thread: main.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "device/driver.h"

namespace pounce::device {

using Bytes = std::vector<std::byte>;

Bytes numbered(std::size_t size, std::uint64_t seed);  // no two stretches are alike
double gigabytes_a_second(std::size_t size, double seconds);

// Into a device's memory and back: one copy of pinned memory, and the pipelines that data takes.
Result<nlohmann::json> copy_speed(Backend& backend, std::size_t size, int rounds);
// From the first of so many devices to all.
Result<nlohmann::json> broadcast_speed(Backend& backend, std::size_t size, std::uint32_t ranks);

}  // namespace pounce::device
