#include "identity/content_digest.h"

#include <xxhash.h>
#if defined(POUNCE_XXHASH_DISPATCH) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same digests
#endif

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/check.h"

namespace pounce::identity {
namespace {

ContentDigest bytes_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  ContentDigest bytes;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), bytes.begin());
  return bytes;
}

}  // namespace

ContentDigest content_digest(std::span<const std::byte> bytes) {
  return bytes_of(XXH3_128bits(bytes.data(), bytes.size()));
}

ContentDigest content_digest(const std::vector<std::span<const std::byte>>& parts) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  POUNCE_CHECK(state != nullptr, "no memory for a hash");
  XXH3_128bits_reset(state.get());
  for (const auto part : parts) {
    const std::uint64_t size = part.size();
    XXH3_128bits_update(state.get(), &size, sizeof size);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  return bytes_of(XXH3_128bits_digest(state.get()));
}

}  // namespace pounce::identity
