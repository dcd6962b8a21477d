#include "client/worker_link.h"

#include <algorithm>
#include <utility>

#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/dealer_socket.h"
#include "transport/frame.h"
#include "transport/local_channel.h"

namespace pounce::client {
namespace {

constexpr std::chrono::seconds kBeat{2};
// Without an answer for this long the worker counts as silent: the user is told, and the connection stays, since a
// stopped process comes back.
constexpr std::chrono::seconds kSilence{5};
// ZeroMQ's own heartbeats notice a peer whose host has gone without a word.
constexpr std::chrono::seconds kPeerSilence{15};
// Some 64 MiB under way: more only delays cancels and beats. Fewer slow down short calls: ZeroMQ's pipe tells its
// other end each time half of them have been read, which wakes its thread.
constexpr int kMessagesUnderWay = 64;
constexpr int kMessagesATurn = 16;  // read before other connections have a turn: 16 MiB when bulk
// Round trips right after attaching: the quickest one gives the clock.
constexpr int kClockQuestions = 3;
constexpr std::chrono::milliseconds kFirstReopenPause{5}, kLongestReopenPause{1000};
constexpr int kLocalAttempts = 5;  // in a row that lasted less than kStood: then it is reached like any other
constexpr std::chrono::seconds kStood{10};
// The worker keeps results until they are acknowledged.
constexpr std::chrono::milliseconds kLongestAcknowledgePause{20};
// Together with the worker's window they must fit into its run page (128), or a crash leaves more in doubt.
constexpr std::size_t kMostToAcknowledge = 64;

std::int64_t nanoseconds_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

WorkerLink::WorkerLink(transport::Context& context, const KeyPair& own, std::string endpoint, const PublicKey& worker,
                       protocol::Attach attach, TimePoint now)
    : context_(context), own_(own), endpoint_(std::move(endpoint)), worker_(worker), attach_(std::move(attach)) {
  open(now);
}

void WorkerLink::open(TimePoint now) {
  reopen_at_ = TimePoint::max();
  channel_ = channel_to_worker();
  if (channel_ == nullptr) reopen_at_ = now + kLongestReopenPause;
  descriptors_ = transport::Descriptors(channel_.get());
}

// Connects directly if the worker is on our machine: the attempt finds that out.
std::unique_ptr<transport::Channel> WorkerLink::channel_to_worker() {
  if (local_attempts_ < kLocalAttempts)
    if (auto local = transport::LocalChannel::connect(worker_, protocol::kDataFrameBytes)) {
      ++local_attempts_;
      return local;
    }
  transport::ClientOptions options;
  options.max_frame_bytes = protocol::kDataFrameBytes;
  options.high_water_mark = kMessagesUnderWay;
  options.heartbeat = kBeat;
  options.heartbeat_timeout = kPeerSilence;
  auto socket = transport::DealerSocket::connect(context_, own_, worker_, options, endpoint_);
  return socket ? std::move(*socket) : nullptr;
}

std::vector<LinkEvent> WorkerLink::pump(TimePoint now, bool monitor_changed) {
  std::vector<LinkEvent> events;
  if (now >= reopen_at_) open(now);
  if (now >= acknowledge_at_) post_acknowledgements();
  exchange(events);
  follow_lane(now, events);
  monitor_changed |= std::exchange(descriptors_.fresh, false) || descriptors_.monitor < 0;
  while (monitor_changed && channel_ != nullptr) {
    const auto link = channel_->link_event();
    if (!link) break;
    follow_link(*link, now, events);
    exchange(events);
  }
  keep_time(now, events);
  return events;
}

// Runs after reading: what has come ends a silence, however late we look.
void WorkerLink::keep_time(TimePoint now, std::vector<LinkEvent>& events) {
  if (now >= beat_due_) {
    beat_due_ = now + kBeat;
    ask_clock();
  }
  if (now >= lane_unused_at()) renew_lane();
  // The worker may have let go of us between our handshake and our attach, or may take an earlier connection for the
  // later one.
  if (now >= attached_by_) return start_over(now, events);
  if (now < silent_at_) return;
  silent_at_ = TimePoint::max();
  silent_ = true;
  events.emplace_back(LinkSilent{});
}

// Goes on until the socket has nothing and takes nothing: only then does its descriptor report the next change. It is
// bounded: where a large result comes as fast as it is read, the beats to pounced and the caller's timeout have their
// turn too.
void WorkerLink::exchange(std::vector<LinkEvent>& events) {
  for (int messages = 0; channel_ != nullptr && channel_->ready(connected() && outbox_.can_go()); ++messages) {
    descriptors_.stale = true;
    if (messages == kMessagesATurn) return;
    if (auto message = channel_->receive()) take(std::move(*message), events);
    flush();
    if (copies()) return settle_descriptors(true);  // it took some milliseconds: others have their turn
  }
  if (channel_ != nullptr) channel_->flush();
  gathers_ = false;
  settle_descriptors(false);
}

// An object is being copied into memory of its own, step by step.
bool WorkerLink::copies() const {
  return channel_ != nullptr && channel_->passes_memory() && outbox_.can_go() && !channel_->unsent();
}

void WorkerLink::settle_descriptors(bool stale) {
  const bool goes_on = channel_ != nullptr && (channel_->tells_changes_only() || copies());
  descriptors_.stale = gathers_ || (stale && goes_on);
  descriptors_.unsent = channel_ != nullptr && channel_->unsent();
}

void WorkerLink::follow_link(transport::Link link, TimePoint now, std::vector<LinkEvent>& events) {
  switch (link) {
    case transport::Link::kConnected:
      stage_ = Stage::kAttaching;
      attached_by_ = now + kSilence;
      attach_.no_bulk = !lane_.wanted();
      outbox_.post_first(attach_);  // ahead of messages meant for the connection before
      flush();
      return;
    case transport::Link::kDisconnected:
      if (stood(now)) local_attempts_ = 0;
      attached_at_ = TimePoint::max();
      if (channel_->reconnects()) return lose(events);
      [[fallthrough]];
    case transport::Link::kRefused:
      // The grant may have overtaken the admission at the worker. A refused socket never works again: a new one does.
      start_over(now + reopen_pause_, events);
      reopen_pause_ = std::min(2 * reopen_pause_, kLongestReopenPause);
      return;
  }
}

bool WorkerLink::stood(TimePoint now) const { return attached_at_ != TimePoint::max() && now > attached_at_ + kStood; }

void WorkerLink::start_over(TimePoint at, std::vector<LinkEvent>& events) {
  lose(events);
  channel_.reset();
  descriptors_ = {};
  reopen_at_ = at;
}

void WorkerLink::lose(std::vector<LinkEvent>& events) {
  leave_lane(events);
  outbox_.clear();
  wanted_.clear();
  unanswered_ = 0;
  gathers_ = false;
  functions_.clear();
  to_keep_.clear();
  to_acknowledge_.clear();  // the worker sends them again on our query; they are acknowledged then
  acknowledge_at_ = TimePoint::max();
  beat_due_ = silent_at_ = attached_by_ = TimePoint::max();
  silent_ = false;
  if (stage_ != Stage::kConnecting) events.emplace_back(LinkLost{});
  stage_ = Stage::kConnecting;
}

void WorkerLink::take(transport::Message message, std::vector<LinkEvent>& events) {
  auto header = protocol::decode(message.front().text(), protocol::kHeaderBytes);
  if (!header) return;
  if (stage_ == Stage::kAttached) silent_at_ = Clock::now() + kSilence;
  if (std::exchange(silent_, false)) events.emplace_back(LinkSeen{});
  const auto* several = std::get_if<protocol::Several>(&*header);
  if (several == nullptr) return take_one(std::move(*header), std::move(message), events);
  auto messages = message.size() == 2 ? transport::unpack(message[1].text(), several->messages) : std::nullopt;
  if (!messages) return;
  for (transport::Message& one : *messages)
    if (auto inner = protocol::decode(one.front().text(), protocol::kHeaderBytes))
      take_one(std::move(*inner), std::move(one), events);
}

void WorkerLink::take_one(protocol::Header header, transport::Message message, std::vector<LinkEvent>& events) {
  if (auto* outcome = std::get_if<protocol::Outcome>(&header)) {
    take_outcome(std::move(*outcome), std::move(message), events);
  } else if (const auto* chunk = std::get_if<protocol::Chunk>(&header)) {
    take_chunk(*chunk, message, events);
  } else if (const auto* output = std::get_if<protocol::Output>(&header)) {
    if (message.size() < 2) return;
    TaskPrinted printed{output->task, output->stream, std::string(message[1].text()), {}};
    for (std::size_t i = 2; i < message.size(); ++i) printed.buffers.emplace_back(message[i].text());
    events.emplace_back(std::move(printed));
  } else if (const auto* started = std::get_if<protocol::Started>(&header)) {
    events.emplace_back(*started);
  } else if (auto* answer = std::get_if<protocol::QueryIs>(&header)) {
    events.emplace_back(std::move(*answer));
  } else if (auto* leaving = std::get_if<protocol::Leaving>(&header)) {
    events.emplace_back(std::move(*leaving));
  } else if (const auto* beat = std::get_if<protocol::Beat>(&header)) {
    take_beat(*beat);
  } else if (const auto* have = std::get_if<protocol::Have>(&header)) {
    take_have(have->object);
    events.emplace_back(*have);
  } else if (auto* serve = std::get_if<protocol::Serve>(&header)) {
    events.emplace_back(std::move(*serve));
  } else if (const auto* not_fetched = std::get_if<protocol::NotFetched>(&header)) {
    events.emplace_back(*not_fetched);
  } else if (auto* attached = std::get_if<protocol::Attached>(&header)) {
    take_attached(std::move(*attached), message, events);
  } else if (auto* refused = std::get_if<protocol::Refused>(&header)) {
    take_refused(std::move(refused->error), events);
  }
}

void WorkerLink::take_attached(protocol::Attached attached, const transport::Message& message,
                               std::vector<LinkEvent>& events) {
  attached_by_ = TimePoint::max();
  if (!lane_.open(attached.bulk, message.size() == 2 ? message[1].text() : std::string_view())) go_without_lane();
  descriptors_.bulk = lane_.fd();
  if (stage_ == Stage::kAttached) return;  // the answer to renew_lane()
  stage_ = Stage::kAttached;
  reopen_pause_ = kFirstReopenPause;
  attached_at_ = Clock::now();
  clock_questions_ = kClockQuestions;
  held_.take_stock(attached.reached);
  has_devices_ = !attached.devices.empty();
  if (attached.several && !channel_->gathers()) outbox_.pack();
  beat_due_ = Clock::now() + kBeat;
  silent_at_ = Clock::now() + kSilence;
  ask_clock();
  events.emplace_back(LinkAttached{std::move(attached)});
}

void WorkerLink::take_have(const ObjectId& object) {
  held_.confirm(object);
  lane_.arrived(object);
  outbox_.arrived(object);
  flush();
}

// The worker refuses the object that the error names, or us if it names none.
void WorkerLink::take_refused(Error error, std::vector<LinkEvent>& events) {
  const auto named = error.context.find("object");
  if (named == error.context.end()) {
    attached_by_ = TimePoint::max();
    return static_cast<void>(events.emplace_back(LinkRefused{std::move(error)}));
  }
  const auto object = ObjectId::from_hex(named->second);
  if (!object || !held_.refused(*object)) return;  // it is there already, or was dropped
  lane_.arrived(*object);
  outbox_.refused(*object);
  events.emplace_back(ObjectRefused{*object, std::move(error)});
}

void WorkerLink::cancel(const protocol::CancelTask& order) {
  if (!outbox_.post_behind_task(order.task, order)) send(order);
}

void WorkerLink::query(std::vector<TaskId> tasks, bool no_others) {
  protocol::Query query{std::move(tasks), no_others, {}};
  for (const TaskId& dropped : incoming_.keep_only(query.tasks)) lane_.stop(dropped);
  query.reached = incoming_.reached();
  send(query);
}

void WorkerLink::take_beat(const protocol::Beat& beat) {
  if (!beat.answer) return send(protocol::Beat{true, beat.sent_ns, nanoseconds_now()});
  clock_.measured(beat.sent_ns, nanoseconds_now(), beat.clock_ns);
  if (--clock_questions_ > 0) ask_clock();
}

void WorkerLink::ask_clock() { send(protocol::Beat{false, nanoseconds_now(), 0}); }

void WorkerLink::take_outcome(protocol::Outcome header, transport::Message message, std::vector<LinkEvent>& events) {
  const TaskId task = header.task;
  const bool fetched = header.fetched;
  if (unanswered_ > 0) --unanswered_;
  if (!incoming_.goes_on(header)) {
    lane_.stop(task);
    if (auto whole = incoming_.begin(std::move(header), std::move(message))) {
      events.emplace_back(std::move(*whole));
      return;
    }
  }
  if (fetched && !lane_.fetch(task, incoming_.of(task))) go_without_lane();
}

void WorkerLink::take_chunk(const protocol::Chunk& chunk, const transport::Message& message,
                            std::vector<LinkEvent>& events) {
  if (auto whole = incoming_.add(chunk, message)) events.emplace_back(std::move(*whole));
}

// ---- the bulk lane ------------------------------------------------------------------------------------------------

// No descriptor was left for a lane, or the worker assumes another one: another connection tells it so.
void WorkerLink::go_without_lane() {
  lane_.do_without();
  attached_by_ = Clock::now();
}

// The lane may have been lost meanwhile: then its objects are wanted anew.
void WorkerLink::offer(const ObjectId& id, const Object& object) {
  if (!lane_.carries(id)) return;
  Announcement announcement(id, object);
  announcement.header.fetched = true;
  lane_.offer(id, announcement.parts);
  send(announcement.header, announcement.inline_payload());
}

void WorkerLink::fetch_from(const std::string& source, const std::string& keys, const ObjectId& id,
                            const Object& object) {
  if (!lane_.carries(id)) return;
  Announcement announcement(id, object);
  announcement.header.fetched = true;
  announcement.header.source = source;
  std::vector<Buffer> payload = announcement.inline_payload();
  payload.push_back(own_buffer(keys));
  send(announcement.header, payload);
}

// Counts only while no outcome is awaited that the worker could offer on this lane.
TimePoint WorkerLink::lane_unused_at() const {
  return attached() && unanswered_ == 0 && outbox_.empty() ? lane_.unused_at() : TimePoint::max();
}

// Attaching again on the present connection requests new keys, which are good once. The worker forgets its functions
// then.
void WorkerLink::renew_lane() {
  lane_.close();
  lane_.forget();
  descriptors_.bulk = -1;
  functions_.clear();
  send(attach_);
}

void WorkerLink::follow_lane(TimePoint now, std::vector<LinkEvent>& events) {
  const auto lost = take_lane_news(events);
  if (!lost) return;
  lane_.lost(*lost, stood(now));
  start_over(now, events);
}

// Returns the first loss.
std::optional<bulk::Lost> WorkerLink::take_lane_news(std::vector<LinkEvent>& events) {
  const WorkerLane::News news = lane_.news();
  for (const TaskId& task : news.whole)
    if (auto whole = incoming_.came_whole(task)) events.emplace_back(std::move(*whole));
  return news.lost;
}

void WorkerLink::leave_lane(std::vector<LinkEvent>& events) {
  lane_.close();
  take_lane_news(events);
  incoming_.came_as_far_as(lane_);
  lane_.forget();
  descriptors_.bulk = -1;
}

// ---- what goes out ------------------------------------------------------------------------------------------------

void WorkerLink::send_task(const Call& call, std::uint32_t attempt, const Objects& objects) {
  if (functions_.needs(call.function, call.function_pickle.bytes.size(), call.task))
    outbox_.post(protocol::Function{call.function, call.command}, {call.function_pickle});
  bool behind_bulk = false;
  std::vector<ObjectId> awaited;
  for (const ObjectId& id : call.objects) {
    held_.used(id);
    const Object* object = objects.find(id);
    if (object != nullptr) send_object(id, *object);
    // An object for a device is still on its way after all of it has been sent: the task waits until the worker
    // confirms it.
    const bool to_device = object != nullptr && !object->device.empty() && !held_.confirmed(id);
    if (lane_.carries(id) || to_device) awaited.push_back(id);
    behind_bulk |= !held_.confirmed(id);
  }
  const protocol::Task header{call.task, call.function, call.objects, attempt};
  if (!awaited.empty())
    outbox_.post_when_there(std::move(awaited), call.task, header, call.payload);
  else
    behind_bulk ? outbox_.post_after_bulk(call.task, header, call.payload) : outbox_.post(header, call.payload);
  flush(unanswered_++ == 0 ? Outbox::Pace::kNow : Outbox::Pace::kGather);
}

bool WorkerLink::send_object(const ObjectId& id, const Object& object) {
  if (held_.contains(id)) return false;
  held_.sent(id, object.total_bytes(), !object.device.empty() || object.of_result);
  const auto reached = held_.take_part(id);
  if (lane_.takes(object)) {
    lane_.expect(id);
    wanted_.push_back(id);
  } else  // behind earlier objects, so that a task's function and objects arrive in the order of its needs
    outbox_.post_object(id, object, reached ? &*reached : nullptr);
  return true;
}

void WorkerLink::send(const protocol::Header& header, const std::vector<Buffer>& payload) {
  outbox_.post(header, payload);
  flush();
}

void WorkerLink::acknowledge(const TaskId& task, TimePoint now) {
  to_acknowledge_.push_back(task);
  if (to_acknowledge_.size() >= kMostToAcknowledge) return post_acknowledgements();
  acknowledge_at_ = std::min(acknowledge_at_, now + kLongestAcknowledgePause);
}

void WorkerLink::post_acknowledgements() {
  acknowledge_at_ = TimePoint::max();
  if (to_acknowledge_.empty()) return;
  outbox_.post(protocol::Ack{std::exchange(to_acknowledge_, {}), std::exchange(to_keep_, {})});
}

void WorkerLink::acknowledge_kept(const TaskId& task, const ObjectId& id, const Object& object) {
  held_.sent(id, object.total_bytes(), object.of_result);
  lane_.expect(id);
  to_acknowledge_.push_back(task);
  to_keep_.push_back(task);
  post_acknowledgements();
  flush();
}

void WorkerLink::flush(Outbox::Pace pace) {
  if (channel_ == nullptr || !connected() || outbox_.empty()) return;
  gathers_ = outbox_.flush(*channel_, pace);
  settle_descriptors(true);
}

TimePoint WorkerLink::next_deadline() const {
  return std::min({beat_due_, reopen_at_, acknowledge_at_, silent_at_, attached_by_, lane_unused_at()});
}

}  // namespace pounce::client
