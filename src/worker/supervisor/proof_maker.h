// Makes HELLO proofs beside the loop, since libmunge blocks on its socket for up to seconds. One request runs at a
// time; the answer to a replaced request is dropped. Thread: loop; a short-lived helper per request, joined here.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "identity/proof.h"
#include "transport/event_loop.h"

namespace pounce::worker {

class ProofMaker {
 public:
  using Make = std::function<Result<std::string>()>;
  using Done = std::function<void(Result<std::string>)>;

  explicit ProofMaker(transport::EventLoop& loop);
  ~ProofMaker();
  void start(Make make, Done done);

 private:
  void collect();

  transport::EventLoop& loop_;
  UniqueFd made_;
  transport::EventLoop::WatchId watch_;
  std::jthread helper_;
  Result<std::string> result_;  // written by the helper before it signals, read after
  Done done_;
};

}  // namespace pounce::worker
