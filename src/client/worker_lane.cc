#include "client/worker_lane.h"

#include <utility>

namespace pounce::client {
namespace {

constexpr std::chrono::seconds kUnused{60};
constexpr int kMostLosses = 3;  // short-lived ones in a row: then this worker's data takes the data connection

}  // namespace

bool WorkerLane::open(const std::string& endpoint, std::string_view keys) {
  auto credentials = bulk::credentials_of(keys);
  if (!credentials || endpoint.empty()) return true;
  endpoint_ = endpoint;
  most_streams_ = credentials->size();
  lane_ = std::make_unique<bulk::Lane>(endpoint, std::move(*credentials));
  return lane_->fd() >= 0;
}

void WorkerLane::expect(const ObjectId& id) {
  expected_.insert(id);
  used_at_ = Clock::now();
}

void WorkerLane::offer(const ObjectId& id, const std::vector<Buffer>& parts) {
  std::vector<bulk::Offered> buffers;
  for (const Buffer& part : parts) buffers.push_back({part.bytes, part.keep});
  expect(id);
  lane_->offer(id.hex(), std::move(buffers));
}

void WorkerLane::arrived(const ObjectId& id) {
  if (expected_.erase(id) == 0) return;
  lane_->withdraw(id.hex());
  used_at_ = Clock::now();
}

bool WorkerLane::fetch(const TaskId& task, const Incoming& outcome) {
  if (!lane_) return false;
  lane_->fetch(task.hex(), outcome.targets(), outcome.position());
  fetched_.insert(task);
  used_at_ = Clock::now();
  return true;
}

void WorkerLane::stop(const TaskId& task) {
  fetched_.erase(task);
  if (lane_) lane_->stop(task.hex());
}

std::optional<bulk::Position> WorkerLane::reached(const TaskId& task) const {
  return lane_ ? lane_->reached(task.hex()) : std::nullopt;
}

WorkerLane::News WorkerLane::news() {
  News news;
  if (!lane_) return news;
  for (const bulk::Event& event : lane_->events()) {
    const auto* lost = std::get_if<bulk::Lost>(&event);
    if (lost != nullptr && !news.lost) news.lost = *lost;
    const auto* whole = std::get_if<bulk::Whole>(&event);
    if (const auto task = whole != nullptr ? TaskId::from_hex(whole->of) : std::nullopt) news.whole.push_back(*task);
  }
  for (const TaskId& task : news.whole) fetched_.erase(task);
  if (!news.whole.empty()) used_at_ = Clock::now();
  return news;
}

void WorkerLane::lost(const bulk::Lost& loss, bool stood) {
  if (stood) losses_ = 0;
  if (!loss.stood || ++losses_ >= kMostLosses) do_without();
}

TimePoint WorkerLane::unused_at() const {
  const bool idle = lane_ && lane_->streams() > 0 && expected_.empty() && fetched_.empty();
  return idle ? used_at_ + kUnused : TimePoint::max();
}

void WorkerLane::close() {
  if (lane_) lane_->close();
}

void WorkerLane::forget() {
  lane_.reset();
  expected_.clear();
  fetched_.clear();
}

}  // namespace pounce::client
