// Keys, and proofs in a HELLO that a CURVE key belongs to the same user as the daemon. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/curve_key.h"
#include "pounce/error.h"

namespace pounce::identity {

// Fresh CURVE key pairs, made by libsodium in memory only (never zmq_curve_keypair: gotchas Z7).
KeyPair make_key_pair();

// BLAKE2b over a list of texts, each bound with its length, so that no two lists give the same bytes.

std::array<std::uint8_t, 32> digest_of(const std::vector<std::string>& parts);

// A proof binds four public things: the audience (D's key), the speaker's own key, its role and its lease or session.
//   munge     a MUNGE credential over them, restricted to our uid; decoded by the daemon
//   key file  libsodium crypto_auth over them with the 32 bytes of a 0600 file that only this user can read
//   peer      nothing: on ipc:// the kernel tells the uid (ZAP address), checked by the handshake endpoint
// No credential is ever made without payload and uid restriction. munge calls block on a Unix socket (at most
// 3 attempts): never call them on an event loop.
struct Claim {
  PublicKey audience;   // the daemon's key
  PublicKey own;        // the key of the connection that says hello
  std::string role;     // "client" | "worker"
  std::string subject;  // session or lease id, hex
};

// munge_socket: empty = libmunge's default. uid: the owner of the credential and the only user that may decode it
// (normally geteuid()).
Result<std::string> munge_proof(const Claim& claim, const std::string& munge_socket, unsigned uid);
// ok only if the credential was made by `uid`, for exactly this claim, and was never decoded here before.
Result<void> verify_munge_proof(const Claim& claim, std::string_view proof, const std::string& munge_socket,
                                unsigned uid);
bool munge_available(const std::string& munge_socket);

// DIR/FILE with 32 random bytes, dir exactly 0700 and ours, file 0600. A good existing file stays: with it a new
// daemon proves to the previous daemon's workers that it is of the same user. A bad one is replaced
// (O_EXCL|O_NOFOLLOW).
Result<void> make_key_file(const std::string& path);
Result<SecretKey> read_key_file(const std::string& path);
Result<std::string> key_file_proof(const Claim& claim, const std::string& path);
Result<void> verify_key_file_proof(const Claim& claim, std::string_view proof, const std::string& path);

// ---- a daemon's word for itself: the first line of its endpoint file, which names its key -------------------------
// Workers that knew another key read it, at any time and many of them: an old seal that was read before stays valid.
// The seal under the statement is printable and one line.
Result<std::string> munge_seal(std::string_view statement, const std::string& munge_socket, unsigned uid);
Result<void> verify_munge_seal(std::string_view statement, std::string_view seal, const std::string& munge_socket,
                               unsigned uid);
std::string key_seal(std::string_view statement, const SecretKey& key);
bool is_key_seal(std::string_view statement, std::string_view seal, const SecretKey& key);

// The bytes that a proof binds: magic, audience, own key, role, subject; each variable part with its length.
std::string claim_bytes(const Claim& claim);

// The bytes that a seal covers: a magic of its own, so that a seal is never accepted as a proof, and a digest of the
// statement.
std::string seal_bytes(std::string_view statement);

// Which libsodium and which libmunge are loaded.
std::string library_version();  // "1.0.18", of libsodium
std::string munge_library();    // its file name, which contains the version: libmunge has no call for it

}  // namespace pounce::identity
