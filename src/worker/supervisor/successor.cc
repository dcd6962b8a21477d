#include "worker/supervisor/successor.h"

#include <unistd.h>

#include "base/trusted_path.h"
#include "identity/proof.h"
#include "protocol/endpoint_file.h"

namespace pounce::worker {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;

}  // namespace

Successor::Successor(const SupervisorOptions& options)
    : endpoint_file_(options.endpoint_file), munge_socket_(options.munge_socket) {
  if (options.proof != protocol::Proof::kKeyFile) return;
  if (auto key = identity::read_key_file(options.key_file)) key_ = std::move(*key);
}

Result<std::string> Successor::find() {
  if (endpoint_file_.empty()) return failure(ErrorCode::kDaemonUnavailable, "pounced keeps its state on a disk of its own");
  auto text = read_trusted_file(endpoint_file_, kMostBytes);
  if (!text) return text;
  const auto [statement, seal] = protocol::lines_of(*text);
  if (*text != believed_)
    if (const auto checked = check_seal(statement, seal); !checked) return failure(checked.error());
  believed_ = *text;
  return std::string(statement);
}

Result<void> Successor::check_seal(std::string_view statement, std::string_view seal) const {
  if (!key_) return identity::verify_munge_seal(statement, seal, munge_socket_, ::geteuid());
  if (identity::is_key_seal(statement, seal, *key_)) return {};
  return failure(ErrorCode::kNotAuthenticated, endpoint_file_ + " is not sealed with this instance's key");
}

}  // namespace pounce::worker
