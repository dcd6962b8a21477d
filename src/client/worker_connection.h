// The connection to one worker's Python, with what waits to be sent over it and the bulk lane beside it. It opens the
// channel, directly on one machine, attaches, and opens another channel when this one breaks. What the messages mean is
// worker_link.h's. Thread: the leader token's holder.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/curve_key.h"
#include "bulk/lane.h"
#include "client/incoming.h"
#include "client/objects.h"
#include "client/worker_outbox.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/channel.h"
#include "transport/zmq_context.h"

namespace pounce::client {

constexpr std::chrono::seconds kWorkerBeat{2};
// Without an answer for this long the worker counts as silent: the user is told, and the connection stays, since a
// stopped process comes back.
constexpr std::chrono::seconds kWorkerSilence{5};

// The client's end of one worker's bulk lane (docs/protocol.md §12): the objects that are offered on it, the outcomes
// that are fetched over it, and, once it is lost, whether another one is tried. Without a lane it takes nothing.
class WorkerLane {
 public:
  bool wanted() const { return wanted_; }  // false: the worker is told so, and all data takes the data connection
  void do_without() { wanted_ = false; }

  // Opens the lane that `attached` describes; empty: the worker has none. False: no descriptor was left for it.
  bool open(const std::string& endpoint, std::string_view keys);
  int fd() const { return lane_ ? lane_->fd() : -1; }  // readable when there are events

  // Its address and its number of connections: another worker may fetch there too. Empty, 0: there is none.
  std::string endpoint() const { return lane_ ? endpoint_ : std::string(); }
  std::size_t most_streams() const { return lane_ ? most_streams_ : 0; }

  bool takes(std::uint64_t bytes) const {
    return data::choose_way({.bytes = bytes, .has_lane = lane_ != nullptr}) == data::Way::kOverLane;
  }
  void expect(const ObjectId& id);  // it will come over a lane: this one, or another worker's
  void offer(const ObjectId& id, const std::vector<Bytes>& parts);
  bool carries(const ObjectId& id) const { return expected_.contains(id); }  // and it is not there yet
  void arrived(const ObjectId& id);

  bool fetch(const TaskId& task, const Incoming& outcome);  // false: there is no lane
  void stop(const TaskId& task);
  std::optional<Position> reached(const TaskId& task) const;  // nullopt: it is not fetched

  struct Arrivals {
    std::vector<TaskId> whole;  // tasks whose outcome has come, whatever became of the lane
    std::optional<bulk::Lost> lost;
  };
  Arrivals arrivals();
  // Data goes on over another lane, or over the data connection. `stood`: the connection lasted for a while.
  void lost(const bulk::Lost& loss, bool stood);

  // When its connections, each with a thread and descriptors at either end, are not worth their cost any more:
  // nothing is under way, and nothing was for a while. Never where there are none.
  TimePoint unused_at() const;

  void close();   // nothing comes any more; reached() and arrivals() still say what came
  void forget();  // there is none

 private:
  std::unique_ptr<bulk::Lane> lane_;
  std::string endpoint_;
  std::size_t most_streams_ = 0;
  std::set<ObjectId> expected_;
  std::set<TaskId> fetched_;
  TimePoint used_at_{};
  bool wanted_ = bulk::Lane::available();
  int losses_ = 0;
};

class WorkerConnection {
 public:
  WorkerConnection(transport::Context& context, const KeyPair& own, std::string endpoint, const PublicKey& worker,
                   protocol::Attach attach, TimePoint now);

  const transport::Descriptors& descriptors() const { return descriptors_; }
  bool connected() const { return stage_ != Stage::kConnecting; }
  bool attached() const { return stage_ == Stage::kAttached; }
  bool stood(TimePoint now) const;  // for a while
  // The address at which the worker is reached.
  std::string machine() const { return endpoint_.substr(0, endpoint_.rfind(':')); }
  TimePoint next_deadline() const { return std::min(reopen_at_, attached_by_); }

  void open_if_due(TimePoint now);
  bool take_fresh_monitor();  // the monitor has to be looked at: nothing else tells of its changes
  std::optional<transport::Link> link_event();
  void attach(TimePoint now);  // the channel is connected
  // The worker's answer. False: it answers renew_lane(), and the connection was attached before.
  bool take_attached(const protocol::Attached& answer, std::string_view lane_keys);
  bool attach_is_late(TimePoint now) const { return now >= attached_by_; }  // another connection is tried
  void attach_refused() { attached_by_ = TimePoint::max(); }                // for good
  bool disconnected(TimePoint now);       // true: the channel connects again by itself
  TimePoint next_attempt(TimePoint now);  // later each time
  // What was on its way may not have arrived. False: there was no connection.
  bool lose();
  void close(TimePoint reopen_at);

  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }
  void send(const protocol::Header& header, const std::vector<Bytes>& payload = {});
  void flush(Outbox::Pace pace = Outbox::Pace::kNow);
  // Goes on until the socket has nothing and takes nothing: only then does its descriptor report the next change. It
  // is bounded: where a large result comes as fast as it is read, the beats to pounced and the caller's timeout have
  // their turn too.
  template <class Take>
  void exchange(Take take) {
    for (int messages = 0; channel_ != nullptr && channel_->ready(connected() && outbox_.can_go()); ++messages) {
      descriptors_.stale = true;
      if (messages == kMessagesATurn) return;
      if (auto message = channel_->receive()) take(std::move(*message));
      flush();
      if (copies()) return settle_descriptors(true);  // it took some milliseconds: others have their turn
    }
    rest();
  }

  WorkerLane& lane() { return lane_; }
  const WorkerLane& lane() const { return lane_; }
  // No descriptor was left for a lane, or the worker assumes another one: another connection tells it so.
  void go_without_lane();
  // Attaching again on the present connection requests new keys, which are good once. The worker forgets its
  // functions then.
  void renew_lane();

 private:
  enum class Stage : std::uint8_t { kConnecting, kAttaching, kAttached };
  static constexpr int kMessagesATurn = 16;  // read before other connections have a turn: 16 MiB when bulk
  static constexpr std::chrono::milliseconds kFirstReopenPause{5}, kLongestReopenPause{1000};

  std::unique_ptr<transport::Channel> channel_to_worker();
  void forget_lane();
  void rest();
  void settle_descriptors(bool stale);
  bool copies() const;

  transport::Context& context_;
  const KeyPair& own_;
  const std::string endpoint_;
  const PublicKey worker_;
  protocol::Attach attach_;

  Stage stage_ = Stage::kConnecting;
  std::unique_ptr<transport::Channel> channel_;
  transport::Descriptors descriptors_;
  Outbox outbox_;
  WorkerLane lane_;
  TimePoint reopen_at_ = TimePoint::max();
  TimePoint attached_by_ = TimePoint::max();  // else another connection is tried
  TimePoint attached_at_ = TimePoint::max();
  std::chrono::milliseconds reopen_pause_ = kFirstReopenPause;
  int local_attempts_ = 0;  // since a local connection last stood for a while
  bool gathers_ = false;    // small messages wait in the channel for the next turn
};

}  // namespace pounce::client
