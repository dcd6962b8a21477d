// The daemon that comes after the one a worker knew: found by its endpoint file, and believed only when that is reached by
// folders that nobody else may write (base/trusted_path.h) and sealed by this user: with a MUNGE credential of our own uid,
// or with the key that this supervisor has held since its start. The one place where a worker believes in a new daemon.
// Thread: any, one at a time; blocks on the file system and on munged.
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

  // The file's statement. An error tells why nobody is believed: then the daemon that we knew is the only one.
  Result<std::string> find();

 private:
  Result<void> check_seal(std::string_view statement, std::string_view seal) const;

  const std::string endpoint_file_, munge_socket_;
  std::optional<SecretKey> key_;  // of those that prove themselves by a key file
  std::string believed_;          // the file as it was then: munged is not asked again
};

}  // namespace pounce::worker
