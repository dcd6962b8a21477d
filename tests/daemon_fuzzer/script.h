// The bytes that decide a life. What they lack is zero, and zero is everywhere the ordinary choice: a short script is
// an ordinary life, and each further byte makes it stranger. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pounce::daemon_fuzzer {

class Script {
 public:
  explicit Script(std::string_view bytes) : bytes_(bytes) {}

  bool over() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (over()) return 0;
    const auto next = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return next;
  }
  std::size_t below(std::size_t most) { return most == 0 ? 0 : byte() % most; }
  bool one_in(std::size_t many) { return below(many) == many - 1; }

 private:
  std::string_view bytes_;
};

}  // namespace pounce::daemon_fuzzer
