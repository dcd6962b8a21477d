#include "client/worker_link.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "transport/frame.h"

namespace pounce::client {
namespace {

// Round trips right after attaching: the quickest one gives the clock.
constexpr int kClockQuestions = 3;

std::int64_t nanoseconds_now() { return Clock::now().time_since_epoch().count(); }

}  // namespace

bool Heartbeat::take_due(TimePoint now) {
  if (now < beat_due_) return false;
  beat_due_ = now + kWorkerBeat;
  return true;
}

bool Heartbeat::heard() {
  if (beat_due_ != TimePoint::max()) silent_at_ = Clock::now() + kWorkerSilence;
  return std::exchange(silent_, false);
}

bool Heartbeat::fell_silent(TimePoint now) {
  if (now < silent_at_) return false;
  silent_at_ = TimePoint::max();
  return silent_ = true;
}

WorkerLink::WorkerLink(transport::Context& context, const KeyPair& own, std::string endpoint, const PublicKey& worker,
                       protocol::Attach attach, TimePoint now)
    : connection_(context, own, std::move(endpoint), worker, std::move(attach), now) {}

std::vector<LinkEvent> WorkerLink::pump(TimePoint now, bool monitor_changed) {
  std::vector<LinkEvent> events;
  connection_.open_if_due(now);
  if (now >= tasks_.acknowledge_at()) tasks_.post_acknowledgements();
  exchange(events);
  follow_lane(now, events);
  monitor_changed |= connection_.take_fresh_monitor();
  while (monitor_changed) {
    const auto link = connection_.link_event();
    if (!link) break;
    follow_link(*link, now, events);
    exchange(events);
  }
  keep_time(now, events);
  return events;
}

TimePoint WorkerLink::next_deadline() const {
  return std::min({heartbeat_.next_deadline(), connection_.next_deadline(), tasks_.acknowledge_at(), lane_unused_at()});
}

void WorkerLink::exchange(std::vector<LinkEvent>& events) {
  connection_.exchange([&](transport::Message message) { take(std::move(message), events); });
}

void WorkerLink::follow_link(transport::Link link, TimePoint now, std::vector<LinkEvent>& events) {
  switch (link) {
    case transport::Link::kConnected:
      return connection_.attach(now);
    case transport::Link::kDisconnected:
      if (connection_.disconnected(now)) return lose(events);
      [[fallthrough]];
    case transport::Link::kRefused:
      // The grant may have overtaken the admission at the worker. A refused socket never works again: a new one does.
      return start_over(connection_.next_attempt(now), events);
  }
}

void WorkerLink::follow_lane(TimePoint now, std::vector<LinkEvent>& events) {
  const auto lost = take_lane_arrivals(events);
  if (!lost) return;
  connection_.lane().lost(*lost, connection_.stood(now));
  start_over(now, events);
}

// Returns the first loss.
std::optional<bulk::Lost> WorkerLink::take_lane_arrivals(std::vector<LinkEvent>& events) {
  const WorkerLane::Arrivals arrivals = connection_.lane().arrivals();
  for (const TaskId& task : arrivals.whole)
    if (auto whole = tasks_.came_whole(task)) events.emplace_back(std::move(*whole));
  return arrivals.lost;
}

// Runs after reading: what has come ends a silence, however late we look.
void WorkerLink::keep_time(TimePoint now, std::vector<LinkEvent>& events) {
  if (heartbeat_.take_due(now)) ask_clock();
  if (now >= lane_unused_at()) {
    tasks_.functions().clear();
    connection_.renew_lane();
  }
  // The worker may have let go of us between our handshake and our attach, or may take an earlier connection for the
  // later one.
  if (connection_.attach_is_late(now)) return start_over(now, events);
  if (heartbeat_.fell_silent(now)) events.emplace_back(LinkSilent{});
}

// Counts only while no outcome is awaited that the worker could offer on this lane.
TimePoint WorkerLink::lane_unused_at() const {
  const bool idle = connection_.attached() && !tasks_.awaits_outcome() && connection_.outbox().empty();
  return idle ? connection_.lane().unused_at() : TimePoint::max();
}

void WorkerLink::ask_clock() { connection_.send(protocol::Beat{false, nanoseconds_now(), 0}); }

void WorkerLink::start_over(TimePoint at, std::vector<LinkEvent>& events) {
  lose(events);
  connection_.close(at);
}

void WorkerLink::lose(std::vector<LinkEvent>& events) {
  connection_.lane().close();
  take_lane_arrivals(events);
  tasks_.lost();
  objects_.lost();
  heartbeat_.end();
  if (connection_.lose()) events.emplace_back(LinkLost{});
}

// ---- what comes in ------------------------------------------------------------------------------------------------

void WorkerLink::take(transport::Message message, std::vector<LinkEvent>& events) {
  auto header = protocol::decode(message.front().text(), protocol::kHeaderBytes);
  if (!header) return;
  if (heartbeat_.heard()) events.emplace_back(LinkSeen{});
  const auto* several = std::get_if<protocol::Several>(&*header);
  if (several == nullptr) return take_one(std::move(*header), std::move(message), events);
  auto messages = message.size() == 2 ? transport::unpack(message[1].text(), several->messages) : std::nullopt;
  if (!messages) return;
  for (transport::Message& one : *messages)
    if (auto inner = protocol::decode(one.front().text(), protocol::kHeaderBytes))
      take_one(std::move(*inner), std::move(one), events);
}

void WorkerLink::take_one(protocol::Header header, transport::Message message, std::vector<LinkEvent>& events) {
  const auto pass_on = [&](auto& event) { events.emplace_back(std::move(event)); };
  std::visit(
      Overloaded{
          [&](protocol::Outcome& outcome) {
            if (auto whole = tasks_.take(std::move(outcome), std::move(message))) pass_on(*whole);
          },
          [&](protocol::Chunk& chunk) {
            if (auto whole = tasks_.take(chunk, message)) pass_on(*whole);
          },
          [&](protocol::Output& output) {
            if (message.size() < 2) return;
            TaskPrinted printed{output.task, output.stream, std::string(message[1].text()), {}};
            for (std::size_t i = 2; i < message.size(); ++i) printed.buffers.emplace_back(message[i].text());
            pass_on(printed);
          },
          [&](protocol::Look&) {  // an answer, which belongs to no task
            if (message.size() != 2) return;
            TaskPrinted answer{{}, "message", std::string(message[1].text()), {}};
            pass_on(answer);
          },
          [&](protocol::Started& started) { pass_on(started); }, [&](protocol::QueryIs& answer) { pass_on(answer); },
          [&](protocol::Leaving& leaving) { pass_on(leaving); }, [&](protocol::Beat& beat) { take_beat(beat); },
          [&](protocol::Have& have) {
            objects_.arrived(have.object);
            pass_on(have);
          },
          [&](protocol::Serve& answer) { pass_on(answer); }, [&](protocol::NotFetched& object) { pass_on(object); },
          [&](protocol::Attached& attached) { take_attached(attached, message, events); },
          [&](protocol::Refused& refused) { take_refused(std::move(refused), events); },
          [](auto&) {}},  // no other message comes from a worker
      header);
}

void WorkerLink::take_attached(protocol::Attached& attached, const transport::Message& message,
                               std::vector<LinkEvent>& events) {
  const auto lane_keys = message.size() == 2 ? message[1].text() : std::string_view();
  if (!connection_.take_attached(attached, lane_keys)) return;
  objects_.attached(attached);
  heartbeat_.begin(Clock::now());
  clock_questions_ = kClockQuestions;
  ask_clock();
  events.emplace_back(LinkAttached{std::move(attached)});
}

// The worker refuses an object, or us if it names none.
void WorkerLink::take_refused(protocol::Refused refused, std::vector<LinkEvent>& events) {
  if (!refused.object) {
    connection_.attach_refused();
    events.emplace_back(LinkRefused{std::move(refused.error)});
  } else if (objects_.refused(*refused.object)) {
    events.emplace_back(ObjectRefused{*refused.object, std::move(refused.error)});
  }
}

void WorkerLink::take_beat(const protocol::Beat& beat) {
  if (!beat.answer) return connection_.send(protocol::Beat{true, beat.sent_ns, nanoseconds_now()});
  clock_.measured(beat.sent_ns, nanoseconds_now(), beat.clock_ns);
  if (--clock_questions_ > 0) ask_clock();
}

}  // namespace pounce::client
