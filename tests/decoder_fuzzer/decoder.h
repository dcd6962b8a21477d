// Every function that reads bytes which another process or person wrote, in one shape, so that one fuzzer does for all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pounce::decoder_fuzzer {

struct Decoder {
  std::string name;
  // What the bytes mean, written anew; nothing: they were refused. What has no encoder is "read", or nothing.
  std::function<std::optional<std::string>(std::string_view)> again;
  std::function<std::vector<std::string>()> seeds;  // texts that are not refused
};

const std::vector<Decoder>& decoders();

// A text that was accepted means the same when it is written and read again. What is wrong with these bytes; empty:
// nothing.
std::string trouble_with(const Decoder& decoder, std::string_view bytes);

}  // namespace pounce::decoder_fuzzer
