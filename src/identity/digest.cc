#include "identity/digest.h"

#include <sodium.h>

namespace pounce::identity {

std::array<std::uint8_t, 32> digest_of(const std::vector<std::string>& parts) {
  std::string bytes;
  for (const std::string& part : parts) bytes += std::to_string(part.size()) + ":" + part;
  std::array<std::uint8_t, 32> digest;
  ::crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       nullptr, 0);
  return digest;
}

}  // namespace pounce::identity
