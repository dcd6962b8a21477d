// Parses and prints times, memory and ports of a policy file. Pure. Thread: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pounce::policy {

std::optional<std::chrono::seconds> duration_from(std::string_view text);  // "90s", "7d", "1-12:00:00"
std::optional<std::chrono::minutes> minutes_from(std::string_view text);   // whole minutes only; also "90"
std::string duration_text(std::chrono::seconds time);                      // in its largest whole unit
std::string memory_text(std::uint64_t mib);                                // "40GB", "512MB"
std::optional<std::uint32_t> cuda_from(std::string_view text);             // "12.4" -> 12040, as CUDA counts
std::string cuda_text(std::uint32_t cuda);
std::optional<std::uint64_t> mib_from(std::string_view text);              // "512MB", "40GB"
std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_from(std::string_view text);  // "50000-50999"

}  // namespace pounce::policy
