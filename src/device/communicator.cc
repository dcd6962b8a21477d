#include "device/communicator.h"

namespace pounce::device {
namespace {

constexpr std::chrono::microseconds kBetweenLooks{200};  // a broadcast of a chunk's size takes about as long

std::string rank_words(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i].value);
  return text;
}

std::string absence(const std::vector<Rank>& missing, std::uint32_t ranks) {
  return rank_words(missing) + " of " + std::to_string(ranks) + " did not come";
}

}  // namespace

Communicator::~Communicator() { end(); }

Result<void> Communicator::is_one_of_us(Rank rank) const {
  if (rank.value < membership_.ranks) return {};
  return failure(ErrorCode::kBadRequest,
                 "there is no rank " + std::to_string(rank.value) + " among " + std::to_string(membership_.ranks));
}

Result<void> Communicator::join(std::chrono::milliseconds limit) {
  if (auto is = is_one_of_us(membership_.rank); !is) return is;
  if (step_ > 0) return failure(ErrorCode::kBadRequest, "a communicator joins its group once");
  return act("join the group", limit, [this]() -> Result<void> {
    auto joined = device_->driver().join(membership_.id, membership_.rank, membership_.ranks);
    if (!joined) return failure(joined.error());
    group_ = std::move(*joined);
    return {};
  });
}

Result<void> Communicator::broadcast(const Buffer& buffer, Rank from, std::chrono::milliseconds limit) {
  if (auto is = is_one_of_us(from); !is) return is;
  if (&buffer.device() != device_.get())
    return failure(ErrorCode::kBadRequest, "this memory is of another device than the rank's");
  if (group_ == nullptr) return failure(ErrorCode::kClosed, "this rank is in no group (any more)", "Make a new gang.");
  return act("broadcast", limit, [&] { return group_->broadcast(buffer.data(), buffer.size(), from); });
}

Result<void> Communicator::leave(std::chrono::milliseconds limit) {
  if (group_ == nullptr) return {};
  auto left = act("leave the group", limit, [this] { return group_->leave(); });
  end();
  return left;
}

void Communicator::stop() {
  {
    const std::lock_guard held(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

template <class Begin>
Result<void> Communicator::act(const char* what, std::chrono::milliseconds limit, Begin begin) {
  ++step_;
  if (stopped_within({})) {
    end();
    return failure(ErrorCode::kCancelled, "the group was stopped");
  }
  attendance_.arrive(membership_.rank, step_);
  auto done = device_->thread().run([&]() -> Result<void> { return begin(); });
  if (done) done = until_done(what, limit);
  if (done) return done;
  end();
  return failure(with_absentees(done.error()));
}

// The rank whose time is over first ends the group. The others hear of that end and not of its cause.
Error Communicator::with_absentees(Error error) {
  const std::vector<Rank> missing = attendance_.missing(step_).value_or(std::vector<Rank>{});
  if (missing.empty() || (error.code != ErrorCode::kTimeout && error.code != ErrorCode::kLost)) return error;
  if (error.code == ErrorCode::kLost) error.text += "; " + absence(missing, membership_.ranks);
  error.context["missing"] = rank_words(missing);
  return error;
}

// The device's thread checks briefly each time, so copies go on while the rank waits.
Result<void> Communicator::until_done(const char* what, std::chrono::milliseconds limit) {
  for (const TimePoint deadline = Clock::now() + limit;;) {
    const auto done = device_->thread().run([this] { return group_->is_done(); });
    if (!done) return failure(done.error());
    if (*done) return {};
    if (Clock::now() >= deadline) return failure(late(what, limit));
    if (stopped_within(kBetweenLooks)) return failure(ErrorCode::kCancelled, "the group was stopped");
  }
}

Error Communicator::late(const char* what, std::chrono::milliseconds limit) {
  const auto missing = attendance_.missing(step_);
  const std::string who = !missing           ? "not all ranks came to "
                          : missing->empty() ? "all ranks came, but could not "
                                             : absence(*missing, membership_.ranks) + " to ";
  return {ErrorCode::kTimeout,
          who + what + " within " + std::to_string(limit.count()) + " ms",
          "Look why that worker is late, then make a new gang.",
          {}};
}

bool Communicator::stopped_within(std::chrono::microseconds time) {
  std::unique_lock held(mutex_);
  return changed_.wait_for(held, time, [this] { return stopped_; });
}

void Communicator::end() {
  if (group_ == nullptr) return;
  device_->thread().run([this] { return group_.reset(), true; });
}

}  // namespace pounce::device
