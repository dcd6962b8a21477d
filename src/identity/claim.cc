#include "identity/claim.h"

#include "base/check.h"
#include "identity/digest.h"

namespace pounce::identity {
namespace {

// The first byte is no hash plugin of Slurm, so Slurm never accepts such a credential as its own (gotchas M2).
constexpr char kMagic[] = "PNC-HELLO\0v1";
constexpr char kSealMagic[] = "PNC-SEAL\0v1";

void append_key(std::string& bytes, const PublicKey& key) {
  bytes.append(reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size());
}

void append_text(std::string& bytes, const std::string& text) {
  POUNCE_CHECK(text.size() <= 255, "roles and ids are short");
  bytes.push_back(static_cast<char>(text.size() & 0xff));
  bytes.append(text);
}

}  // namespace

std::string claim_bytes(const Claim& claim) {
  std::string bytes(kMagic, sizeof kMagic - 1);
  append_key(bytes, claim.audience);
  append_key(bytes, claim.own);
  append_text(bytes, claim.role);
  append_text(bytes, claim.subject);
  return bytes;
}

std::string seal_bytes(std::string_view statement) {
  const auto digest = digest_of({std::string(statement)});
  return std::string(kSealMagic, sizeof kSealMagic - 1).append(digest.begin(), digest.end());
}

}  // namespace pounce::identity
