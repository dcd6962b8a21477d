// Finds the pounced that replaced the known one. Its endpoint file is trusted only when no other user may write the
// folders on its path (base/trusted_path.h) and when this user sealed it: with a MUNGE credential of our own uid, or
// with the key that this supervisor has held since its start. No other code lets a worker trust a new daemon. Thread:
// any, one at a time; blocks on the file system and on munged.
#pragma once

#include <optional>
#include <string>

#include "base/curve_key.h"
#include "pounce/result.h"
#include "worker/supervisor/supervisor_options.h"

namespace pounce::worker {

class Successor {
 public:
  explicit Successor(const SupervisorOptions& options);

  // Returns the file's statement. An error says why the file is not trusted; the known daemon then stays the only
  // one.
  Result<std::string> find();

 private:
  Result<void> check_seal(std::string_view statement, std::string_view seal) const;

  const std::string endpoint_file_, munge_socket_;
  std::optional<SecretKey> key_;  // set where daemons prove themselves by a key file
  std::string believed_;  // the file when it was last verified, so that an unchanged file costs no call to munged
};

}  // namespace pounce::worker
