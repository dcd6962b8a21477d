// The key file side of proof.h: possession of a 0600 file in the user's own state folder.
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "identity/claim.h"
#include "identity/proof.h"

namespace pounce::identity {
namespace {

using Key = std::array<unsigned char, crypto_auth_KEYBYTES>;

tl::unexpected<Error> trouble(const std::string& path, const std::string& what) {
  return failure(ErrorCode::kNotAuthenticated, "the key file " + path + " " + what);
}

// The folder first, then the file relative to it: no step follows a link somebody else could plant.
Result<UniqueFd> open_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  UniqueFd fd(::open(folder.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return trouble(path, "has no folder");
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 07777) != 0700)
    return trouble(path, "lies in a folder that is not this user's alone (mode 0700)");
  return fd;
}

Result<Key> read_key(const std::string& path) {
  const auto folder = open_folder(path);
  if (!folder) return failure(folder.error());
  const std::string name = std::filesystem::path(path).filename();
  const UniqueFd fd(::openat(folder->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0) return trouble(path, std::string("cannot be read: ") + std::strerror(errno));
  if (facts.st_uid != ::geteuid() || (facts.st_mode & 07777) != 0600 || !S_ISREG(facts.st_mode))
    return trouble(path, "is not this user's alone (mode 0600)");
  Key key;
  if (::read(fd.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) return trouble(path, "is too short");
  return key;
}

}  // namespace

Result<void> make_key_file(const std::string& path) {
  const auto folder = open_folder(path);
  if (!folder) return failure(folder.error());
  const std::string name = std::filesystem::path(path).filename();
  ::unlinkat(folder->get(), name.c_str(), 0);
  const UniqueFd fd(::openat(folder->get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return trouble(path, std::string("cannot be made: ") + std::strerror(errno));
  Key key;
  ::randombytes_buf(key.data(), key.size());
  const bool written = ::write(fd.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size());
  ::sodium_memzero(key.data(), key.size());
  if (!written || ::fsync(fd.get()) != 0) return trouble(path, "cannot be written");
  return {};
}

Result<std::string> key_file_proof(const Claim& claim, const std::string& path) {
  auto key = read_key(path);
  if (!key) return failure(key.error());
  const std::string bytes = claim_bytes(claim);
  std::string proof(crypto_auth_BYTES, '\0');
  ::crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                bytes.size(), key->data());
  ::sodium_memzero(key->data(), key->size());
  return proof;
}

Result<void> verify_key_file_proof(const Claim& claim, std::string_view proof, const std::string& path) {
  auto key = read_key(path);
  if (!key) return failure(key.error());
  const std::string bytes = claim_bytes(claim);
  const bool good = proof.size() == crypto_auth_BYTES &&
                    ::crypto_auth_verify(reinterpret_cast<const unsigned char*>(proof.data()),
                                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                                         key->data()) == 0;
  ::sodium_memzero(key->data(), key->size());
  if (!good) return failure(ErrorCode::kNotAuthenticated, "the key file's proof does not fit this key or daemon");
  return {};
}

}  // namespace pounce::identity
