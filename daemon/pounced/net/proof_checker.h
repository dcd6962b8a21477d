// Verifies proofs on a thread of its own, because munged answers over a blocking socket. The queue is bounded; when
// it is full, the newest question is refused and its peer tries again. Answers wake the loop through a descriptor.
// Thread: loop, except the checker's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "identity/proof.h"
#include "pounce/result.h"

namespace pounce::daemon {

class ProofChecker {
 public:
  // Blocking; called on the checker's thread only.
  using Verify = std::function<Result<void>(const identity::Claim& claim, const std::string& proof)>;
  using Done = std::function<void(Result<void>)>;

  static constexpr std::size_t kMostWaiting = 256;

  explicit ProofChecker(Verify verify);
  ~ProofChecker();  // waits for the check at hand; the others are dropped

  // false: too many wait already. `done` is called from on_readable().
  bool check(identity::Claim claim, std::string proof, Done done);
  int fd() const;
  void on_readable();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce::daemon
