#include "pounced/net/proof_checker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/thread_name.h"
#include "base/unique_fd.h"

namespace pounce::daemon {
namespace {

struct Question {
  identity::Claim claim;
  std::string proof;
  ProofChecker::Done done;
};

struct Answer {
  ProofChecker::Done done;
  Result<void> outcome;
};

// Hands questions to the thread and answers back. Bounded by kMostWaiting, since every question becomes one answer.
class Counter {
 public:
  bool ask(Question question) {
    const std::lock_guard lock(mutex_);
    if (questions_.size() + answers_.size() >= ProofChecker::kMostWaiting) return false;
    questions_.push_back(std::move(question));
    changed_.notify_one();
    return true;
  }

  std::optional<Question> next_question(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !questions_.empty(); });
    if (stop.stop_requested()) return std::nullopt;
    Question question = std::move(questions_.front());
    questions_.pop_front();
    return question;
  }

  void answer(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }

  std::deque<Answer> take_answers() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Question> questions_;
  std::deque<Answer> answers_;
};

}  // namespace

struct ProofChecker::Impl {
  explicit Impl(Verify verify) : verify(std::move(verify)), bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void work(std::stop_token stop) {
    name_thread("pounced-proof");
    while (auto question = counter.next_question(stop)) {
      auto outcome = verify(question->claim, question->proof);
      counter.answer({std::move(question->done), std::move(outcome)});
      ::eventfd_write(bell.get(), 1);
    }
  }

  const Verify verify;
  const UniqueFd bell;
  Counter counter;
  std::jthread thread;  // last: it uses all of the above until it is joined
};

ProofChecker::ProofChecker(Verify verify) : impl_(std::make_unique<Impl>(std::move(verify))) {
  impl_->thread = std::jthread([impl = impl_.get()](std::stop_token stop) { impl->work(stop); });
}

ProofChecker::~ProofChecker() = default;

bool ProofChecker::check(identity::Claim claim, std::string proof, Done done) {
  return impl_->counter.ask({std::move(claim), std::move(proof), std::move(done)});
}

int ProofChecker::fd() const { return impl_->bell.get(); }

void ProofChecker::on_readable() {
  eventfd_t count = 0;
  ::eventfd_read(impl_->bell.get(), &count);
  for (Answer& answer : impl_->counter.take_answers()) answer.done(std::move(answer.outcome));
}

}  // namespace pounce::daemon
