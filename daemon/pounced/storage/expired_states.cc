#include "pounced/storage/expired_states.h"

#include <algorithm>

#include "base/log.h"

namespace pounce::daemon {
namespace {

constexpr std::int64_t kDay = 86400;

}  // namespace

bool ExpiredStates::step() {
  if (!folder_) begin();
  if (!folder_) return false;
  if (!aside_.empty())
    remove_some(aside_.back());
  else if (!left_.empty())
    look_at(left_.back());
  else
    folder_.reset();
  return folder_.has_value();
}

void ExpiredStates::begin() {
  auto opened = saved_state::SavedStates::open(path_);
  if (!opened) spdlog::warn("saved variables are not looked after: {}", opened.error().text);
  if (!opened || !*opened) return;
  folder_ = std::move(**opened);
  left_ = folder_->ids();
  aside_ = folder_->leftovers();
}

void ExpiredStates::look_at(std::string id) {
  left_.pop_back();
  const auto state = folder_->state(id);
  const std::int64_t now = now_s_(), keep = std::max<std::chrono::seconds>(keep_(), kLeastKept).count();
  const std::int64_t used = state ? state->used_s().value_or(now) : now;  // a state of unknown age stays
  if (now - used <= keep) return;
  const auto aside = folder_->put_aside(id);
  spdlog::info("saved variables {}, not used for {} days: {}", id, (now - used) / kDay,
               aside ? "removed" : aside.error().text);
  if (aside) aside_.push_back(*aside);
}

// Files that cannot be removed now are tried again in the next round.
void ExpiredStates::remove_some(const std::string& aside) {
  if (folder_->remove_some(aside, kFilesAtOnce) != saved_state::SavedStates::Left::kMore) aside_.pop_back();
}

}  // namespace pounce::daemon
