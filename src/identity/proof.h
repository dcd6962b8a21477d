// Showing, in a HELLO, that a CURVE key belongs to the same user as the daemon (design §5).
// A proof binds four public things: the audience (D's key), the speaker's own key, its role and its lease or session.
//   munge     a MUNGE credential over them, restricted to our uid; decoded by the daemon
//   key file  libsodium crypto_auth over them with the 32 bytes of a 0600 file that only this user can read
//   peer      nothing: on ipc:// the kernel tells the uid (ZAP address), checked by the door
// No credential is ever made without payload and uid restriction. munge calls block on a Unix socket (at most
// 3 attempts): never call them on an event loop. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/curve_key.h"
#include "pounce/result.h"

namespace pounce::identity {

struct Claim {
  PublicKey audience;   // the daemon's key
  PublicKey own;        // the key of the connection that says hello
  std::string role;     // "client" | "worker"
  std::string subject;  // session or lease id, hex
};

// munge_socket: empty = libmunge's default. uid: whose credential and who may decode it (normally geteuid()).
Result<std::string> munge_proof(const Claim& claim, const std::string& munge_socket, unsigned uid);
// ok only if the credential was made by `uid`, for exactly this claim, and was never decoded here before.
Result<void> verify_munge_proof(const Claim& claim, std::string_view proof, const std::string& munge_socket, unsigned uid);
bool munge_available(const std::string& munge_socket);

// Makes DIR/FILE with 32 fresh random bytes: dir exactly 0700 and ours, file 0600, O_EXCL|O_NOFOLLOW, old one replaced.
Result<void> make_key_file(const std::string& path);
Result<std::string> key_file_proof(const Claim& claim, const std::string& path);
Result<void> verify_key_file_proof(const Claim& claim, std::string_view proof, const std::string& path);

}  // namespace pounce::identity
