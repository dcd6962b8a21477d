// Keys, the bytes that a proof binds, and the key file's proof: possession of a 0600 file in the user's own state
// folder. The MUNGE proof is in munge_proof.cc.

#include "identity/proof.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/unique_fd.h"

namespace pounce::identity {

KeyPair make_key_pair() {
  POUNCE_CHECK(::sodium_init() >= 0, "libsodium cannot start");
  KeyPair pair;
  // A CURVE key pair is a crypto_box pair (RFC 26).
  ::crypto_box_keypair(pair.public_key.bytes.data(), pair.secret_key.bytes().data());
  return pair;
}

std::array<std::uint8_t, 32> digest_of(const std::vector<std::string>& parts) {
  std::string bytes;
  for (const std::string& part : parts) bytes += std::to_string(part.size()) + ":" + part;
  std::array<std::uint8_t, 32> digest;
  ::crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       nullptr, 0);
  return digest;
}

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

namespace {

static_assert(sizeof(SecretKey) == crypto_auth_KEYBYTES);

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string tag_of(const std::string& bytes, const SecretKey& key) {
  std::string tag(crypto_auth_BYTES, '\0');
  ::crypto_auth(reinterpret_cast<unsigned char*>(tag.data()), bytes_of(bytes), bytes.size(), key.bytes().data());
  return tag;
}

// crypto_auth_verify compares in constant time.
bool is_tag_of(const std::string& bytes, std::string_view tag, const SecretKey& key) {
  return tag.size() == crypto_auth_BYTES &&
         ::crypto_auth_verify(bytes_of(tag), bytes_of(bytes), bytes.size(), key.bytes().data()) == 0;
}

tl::unexpected<Error> trouble(const std::string& path, const std::string& what) {
  return failure(ErrorCode::kNotAuthenticated, "the key file " + path + " " + what);
}

// Opens the folder first, then the file relative to it: no step follows a link that another user could plant.
Result<UniqueFd> open_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  UniqueFd fd(::open(folder.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY));
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return trouble(path, "has no folder");
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 07777) != 0700)
    return trouble(path, "lies in a folder that is not this user's alone (mode 0700)");
  return fd;
}

}  // namespace

Result<SecretKey> read_key_file(const std::string& path) {
  const auto folder = open_folder(path);
  if (!folder) return failure(folder.error());
  const std::string name = std::filesystem::path(path).filename();
  const UniqueFd fd(::openat(folder->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts{};
  if (!fd || ::fstat(fd.get(), &facts) != 0)
    return trouble(path, std::string("cannot be read: ") + std::strerror(errno));
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 07777) != 0600 || !S_ISREG(facts.st_mode))
    return trouble(path, "is not this user's alone (mode 0600)");
  SecretKey key;
  const auto size = static_cast<ssize_t>(key.bytes().size());
  if (facts.st_size != size || ::read(fd.get(), key.bytes().data(), key.bytes().size()) != size)
    return trouble(path, "is not of 32 bytes");
  return key;
}

Result<void> make_key_file(const std::string& path) {
  if (read_key_file(path)) return {};
  const auto folder = open_folder(path);
  if (!folder) return failure(folder.error());
  if (::sodium_init() < 0) return trouble(path, "cannot be made: libsodium does not start");
  const std::string name = std::filesystem::path(path).filename();
  ::unlinkat(folder->get(), name.c_str(), 0);
  const UniqueFd fd(::openat(folder->get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return trouble(path, std::string("cannot be made: ") + std::strerror(errno));
  SecretKey key;
  ::randombytes_buf(key.bytes().data(), key.bytes().size());
  const auto size = static_cast<ssize_t>(key.bytes().size());
  const bool written = ::write(fd.get(), key.bytes().data(), key.bytes().size()) == size;
  if (!written || ::fsync(fd.get()) != 0) return trouble(path, "cannot be written");
  return {};
}

Result<std::string> key_file_proof(const Claim& claim, const std::string& path) {
  const auto key = read_key_file(path);
  if (!key) return failure(key.error());
  return tag_of(claim_bytes(claim), *key);
}

Result<void> verify_key_file_proof(const Claim& claim, std::string_view proof, const std::string& path) {
  const auto key = read_key_file(path);
  if (!key) return failure(key.error());
  if (!is_tag_of(claim_bytes(claim), proof, *key))
    return failure(ErrorCode::kNotAuthenticated, "the key file's proof does not fit this key or daemon");
  return {};
}

std::string key_seal(std::string_view statement, const SecretKey& key) {
  const std::string tag = tag_of(seal_bytes(statement), key);
  std::string seal(2 * tag.size() + 1, '\0');
  ::sodium_bin2hex(seal.data(), seal.size(), bytes_of(tag), tag.size());
  seal.pop_back();
  return seal;
}

bool is_key_seal(std::string_view statement, std::string_view seal, const SecretKey& key) {
  std::string tag(crypto_auth_BYTES, '\0');
  std::size_t size = 0;
  const int unread = ::sodium_hex2bin(reinterpret_cast<unsigned char*>(tag.data()), tag.size(), seal.data(),
                                      seal.size(), nullptr, &size, nullptr);
  return unread == 0 && size == tag.size() && is_tag_of(seal_bytes(statement), tag, key);
}

}  // namespace pounce::identity
