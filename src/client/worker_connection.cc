#include "client/worker_connection.h"

#include "protocol/message_limits.h"
#include "transport/dealer_socket.h"
#include "transport/local_channel.h"

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

void WorkerLane::offer(const ObjectId& id, const std::vector<Bytes>& parts) {
  expect(id);
  lane_->offer(id.hex(), parts);
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

std::optional<Position> WorkerLane::reached(const TaskId& task) const {
  return lane_ ? lane_->reached(task.hex()) : std::nullopt;
}

WorkerLane::Arrivals WorkerLane::arrivals() {
  Arrivals arrivals;
  if (!lane_) return arrivals;
  for (const bulk::Event& event : lane_->events()) {
    const auto* lost = std::get_if<bulk::Lost>(&event);
    if (lost != nullptr && !arrivals.lost) arrivals.lost = *lost;
    const auto* whole = std::get_if<bulk::Whole>(&event);
    if (const auto task = whole != nullptr ? TaskId::from_hex(whole->of) : std::nullopt)
      arrivals.whole.push_back(*task);
  }
  for (const TaskId& task : arrivals.whole) fetched_.erase(task);
  if (!arrivals.whole.empty()) used_at_ = Clock::now();
  return arrivals;
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

// ---- the connection -------------------------------------------------------------------------------------------

namespace {

// ZeroMQ's own heartbeats notice a peer whose host has gone without a word.
constexpr std::chrono::seconds kPeerSilence{15};
// Some 64 MiB under way: more only delays cancels and beats. Fewer slow down short calls: ZeroMQ's pipe tells its
// other end each time half of them have been read, which wakes its thread.
constexpr int kMessagesUnderWay = 64;
constexpr int kLocalAttempts = 5;  // in a row that lasted less than kStood: then it is reached like any other
constexpr std::chrono::seconds kStood{10};

}  // namespace

WorkerConnection::WorkerConnection(transport::Context& context, const KeyPair& own, std::string endpoint,
                                   const PublicKey& worker, protocol::Attach attach, TimePoint now)
    : context_(context),
      own_(own),
      endpoint_(std::move(endpoint)),
      worker_(worker),
      attach_(std::move(attach)),
      reopen_at_(now) {
  open_if_due(now);
}

void WorkerConnection::open_if_due(TimePoint now) {
  if (now < reopen_at_) return;
  reopen_at_ = TimePoint::max();
  channel_ = channel_to_worker();
  if (channel_ == nullptr) reopen_at_ = now + kLongestReopenPause;
  descriptors_ = transport::Descriptors(channel_.get());
}

// Connects directly if the worker is on our machine: the attempt finds that out.
std::unique_ptr<transport::Channel> WorkerConnection::channel_to_worker() {
  if (local_attempts_ < kLocalAttempts)
    if (auto local = transport::LocalChannel::connect(worker_, protocol::kDataFrameBytes)) {
      ++local_attempts_;
      return local;
    }
  transport::ClientOptions options;
  options.max_frame_bytes = protocol::kDataFrameBytes;
  options.high_water_mark = kMessagesUnderWay;
  options.heartbeat = kWorkerBeat;
  options.heartbeat_timeout = kPeerSilence;
  auto socket = transport::DealerSocket::connect(context_, own_, worker_, options, endpoint_);
  return socket ? std::move(*socket) : nullptr;
}

bool WorkerConnection::take_fresh_monitor() {
  return std::exchange(descriptors_.fresh, false) || descriptors_.monitor < 0;
}

std::optional<transport::Link> WorkerConnection::link_event() {
  return channel_ != nullptr ? channel_->link_event() : std::nullopt;
}

void WorkerConnection::attach(TimePoint now) {
  stage_ = Stage::kAttaching;
  attached_by_ = now + kWorkerSilence;
  attach_.no_bulk = !lane_.wanted();
  outbox_.post_first(attach_);  // ahead of messages meant for the connection before
  flush();
}

bool WorkerConnection::take_attached(const protocol::Attached& answer, std::string_view lane_keys) {
  attached_by_ = TimePoint::max();
  if (!lane_.open(answer.bulk, lane_keys)) go_without_lane();
  descriptors_.bulk = lane_.fd();
  if (stage_ == Stage::kAttached) return false;
  stage_ = Stage::kAttached;
  reopen_pause_ = kFirstReopenPause;
  attached_at_ = Clock::now();
  if (answer.several && !channel_->gathers()) outbox_.pack();
  return true;
}

bool WorkerConnection::stood(TimePoint now) const {
  return attached_at_ != TimePoint::max() && now > attached_at_ + kStood;
}

bool WorkerConnection::disconnected(TimePoint now) {
  if (stood(now)) local_attempts_ = 0;
  attached_at_ = TimePoint::max();
  return channel_->reconnects();
}

TimePoint WorkerConnection::next_attempt(TimePoint now) {
  const TimePoint at = now + reopen_pause_;
  reopen_pause_ = std::min(2 * reopen_pause_, kLongestReopenPause);
  return at;
}

bool WorkerConnection::lose() {
  forget_lane();
  outbox_.clear();
  gathers_ = false;
  attached_by_ = TimePoint::max();
  return std::exchange(stage_, Stage::kConnecting) != Stage::kConnecting;
}

void WorkerConnection::close(TimePoint reopen_at) {
  channel_.reset();
  descriptors_ = {};
  reopen_at_ = reopen_at;
}

void WorkerConnection::send(const protocol::Header& header, const std::vector<Bytes>& payload) {
  outbox_.post(header, payload);
  flush();
}

void WorkerConnection::flush(Outbox::Pace pace) {
  if (channel_ == nullptr || !connected() || outbox_.empty()) return;
  gathers_ = outbox_.flush(*channel_, pace);
  settle_descriptors(true);
}

void WorkerConnection::rest() {
  if (channel_ != nullptr) channel_->flush();
  gathers_ = false;
  settle_descriptors(false);
}

// An object is being copied into memory of its own, step by step.
bool WorkerConnection::copies() const {
  return channel_ != nullptr && channel_->passes_memory() && outbox_.can_go() && !channel_->unsent();
}

void WorkerConnection::settle_descriptors(bool stale) {
  const bool goes_on = channel_ != nullptr && (channel_->tells_changes_only() || copies());
  descriptors_.stale = gathers_ || (stale && goes_on);
  descriptors_.unsent = channel_ != nullptr && channel_->unsent();
}

void WorkerConnection::go_without_lane() {
  lane_.do_without();
  attached_by_ = Clock::now();
}

void WorkerConnection::renew_lane() {
  lane_.close();
  forget_lane();
  send(attach_);
}

void WorkerConnection::forget_lane() {
  lane_.forget();
  descriptors_.bulk = -1;
}

}  // namespace pounce::client
