#include "worker/supervisor/proof_maker.h"

#include <sys/eventfd.h>

#include "base/thread_name.h"

namespace pounce::worker {

ProofMaker::ProofMaker(transport::EventLoop& loop) : loop_(loop), made_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  watch_ = loop_.watch_fd(made_.get(), [this] { collect(); });
}

ProofMaker::~ProofMaker() { loop_.unwatch(watch_); }

void ProofMaker::start(Make make, Done done) {
  if (helper_.joinable()) helper_.join();
  eventfd_t void_now;
  ::eventfd_read(made_.get(), &void_now);
  done_ = std::move(done);
  helper_ = std::jthread([this, make = std::move(make)] {
    name_thread("pounce-proof");
    result_ = make();
    ::eventfd_write(made_.get(), 1);
  });
}

void ProofMaker::collect() {
  eventfd_t count;
  if (::eventfd_read(made_.get(), &count) != 0) return;
  helper_.join();
  if (done_) std::exchange(done_, nullptr)(std::move(result_));
}

}  // namespace pounce::worker
