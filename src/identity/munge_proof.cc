// The MUNGE side of proof.h; the only user of libmunge.

#include <dlfcn.h>
#include <munge.h>
#include <sodium.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "identity/proof.h"

namespace pounce::identity {
namespace {

constexpr int kAttempts = 3;

struct DestroyContext {
  void operator()(munge_ctx_t context) const { ::munge_ctx_destroy(context); }
};
using MungeContext = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, DestroyContext>;

MungeContext open_context(const std::string& socket) {
  MungeContext context(::munge_ctx_create());
  if (context && !socket.empty()) ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
  return context;
}

std::string reason(const MungeContext& context, munge_err_t code) {
  const char* text = ::munge_ctx_strerror(context.get());
  return text != nullptr ? text : ::munge_strerror(code);
}

// Retries only on a socket error: munged may be restarting.
template <class Call>
munge_err_t with_attempts(const Call& call) {
  munge_err_t code = EMUNGE_SOCKET;
  for (int attempt = 0; attempt < kAttempts && code == EMUNGE_SOCKET; ++attempt) code = call();
  return code;
}

// True for a credential that munged vouches for, however old.
bool is_genuine(munge_err_t code) {
  return code == EMUNGE_SUCCESS || code == EMUNGE_CRED_EXPIRED || code == EMUNGE_CRED_REWOUND ||
         code == EMUNGE_CRED_REPLAYED;
}

Result<std::string> encode(const std::string& payload, const std::string& munge_socket, unsigned uid) {
  const MungeContext context = open_context(munge_socket);
  if (!context) return failure(ErrorCode::kInternal, "no memory for a munge context");
  ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(uid));
  char* credential = nullptr;
  const munge_err_t code = with_attempts(
      [&] { return ::munge_encode(&credential, context.get(), payload.data(), static_cast<int>(payload.size())); });
  const std::unique_ptr<char, decltype(&::free)> owned(credential, ::free);
  if (code != EMUNGE_SUCCESS)
    return failure(ErrorCode::kNotAuthenticated, "munge gave no credential: " + reason(context, code),
                   "Ask the admin whether munged runs on this node.");
  return std::string(credential);
}

// `counts(code)`: whether this result of munged is acceptable.
Result<void> decode(std::string_view expected, std::string_view proof, const std::string& munge_socket, unsigned uid,
                    bool (*counts)(munge_err_t)) {
  const MungeContext context = open_context(munge_socket);
  if (!context) return failure(ErrorCode::kInternal, "no memory for a munge context");
  void* payload = nullptr;
  int size = 0;
  uid_t made_by = static_cast<uid_t>(-1);
  gid_t group = 0;
  const std::string credential(proof);
  const munge_err_t code = with_attempts(
      [&] { return ::munge_decode(credential.c_str(), context.get(), &payload, &size, &made_by, &group); });
  const std::unique_ptr<void, decltype(&::free)> owned(payload, ::free);
  // Check the code, not the pointer: an expired or replayed credential comes with its payload.
  if (!counts(code))
    return failure(ErrorCode::kNotAuthenticated, "the munge credential was not accepted: " + reason(context, code));
  if (made_by != static_cast<uid_t>(uid))
    return failure(ErrorCode::kNotAuthenticated, "the munge credential is another user's");
  if (std::string_view(static_cast<const char*>(payload), static_cast<std::size_t>(size)) != expected)
    return failure(ErrorCode::kNotAuthenticated, "the munge credential was made for another key or daemon");
  return {};
}

}  // namespace

Result<std::string> munge_proof(const Claim& claim, const std::string& munge_socket, unsigned uid) {
  return encode(claim_bytes(claim), munge_socket, uid);
}

Result<void> verify_munge_proof(const Claim& claim, std::string_view proof, const std::string& munge_socket,
                                unsigned uid) {
  return decode(claim_bytes(claim), proof, munge_socket, uid, [](munge_err_t code) { return code == EMUNGE_SUCCESS; });
}

Result<std::string> munge_seal(std::string_view statement, const std::string& munge_socket, unsigned uid) {
  return encode(seal_bytes(statement), munge_socket, uid);
}

Result<void> verify_munge_seal(std::string_view statement, std::string_view seal, const std::string& munge_socket,
                               unsigned uid) {
  return decode(seal_bytes(statement), seal, munge_socket, uid, is_genuine);
}

bool munge_available(const std::string& munge_socket) { return munge_proof(Claim{}, munge_socket, 0).has_value(); }

std::string library_version() { return ::sodium_version_string(); }

std::string munge_library() {
  Dl_info where{};
  if (::dladdr(reinterpret_cast<void*>(&::munge_encode), &where) == 0 || where.dli_fname == nullptr) return "";
  std::error_code trouble;
  const auto file = std::filesystem::canonical(where.dli_fname, trouble);
  return trouble ? where.dli_fname : file.string();
}

}  // namespace pounce::identity
