#include "protocol/stream_framing.h"

#include <cstdint>

namespace pounce::protocol {
namespace {
constexpr std::size_t kPrefixBytes = 4;
}

std::string frame_record(std::string_view record) {
  const auto size = static_cast<std::uint32_t>(record.size());
  std::string framed;
  framed.reserve(kPrefixBytes + record.size());
  for (int shift = 24; shift >= 0; shift -= 8) framed.push_back(static_cast<char>((size >> shift) & 0xff));
  framed.append(record);
  return framed;
}

Result<std::optional<std::string>> RecordReader::next() {
  if (buffer_.size() < kPrefixBytes) return std::optional<std::string>{};
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < kPrefixBytes; ++i) size = size << 8 | static_cast<std::uint8_t>(buffer_[i]);
  if (size == 0 || size > limit_)
    return failure(ErrorCode::kProtocol, "a record of " + std::to_string(size) + " bytes was announced");
  if (buffer_.size() < kPrefixBytes + size) return std::optional<std::string>{};
  std::string record = buffer_.substr(kPrefixBytes, size);
  buffer_.erase(0, kPrefixBytes + size);
  return std::optional<std::string>(std::move(record));
}

}  // namespace pounce::protocol
