// CRC-32C (Castagnoli, RFC 3720 §B.4): finds any damage of up to 32 bits in a row in a journal line. Thread: any.
#pragma once

#include <cstdint>
#include <string_view>

namespace pounce::daemon {

constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

static_assert(crc32c("123456789") == 0xE3069283u);  // the check value every catalogue of CRCs gives

}  // namespace pounce::daemon
