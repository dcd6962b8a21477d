// The client's end of one worker's bulk lane (docs/protocol.md §12): the objects that are offered on it, the outcomes
// that are fetched over it, and, once it is lost, whether another one is tried. Without a lane it takes nothing.
// Thread: the leader token's holder.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bulk/lane.h"
#include "client/incoming.h"
#include "client/objects.h"
#include "model/ids.h"

namespace pounce::client {

class WorkerLane {
 public:
  bool wanted() const { return wanted_; }  // false: the worker is told so, and all data takes the data connection
  void do_without() { wanted_ = false; }

  // Opens the lane that `attached` describes; empty: the worker has none. False: no descriptor was left for it.
  bool open(const std::string& endpoint, std::string_view keys);
  int fd() const { return lane_ ? lane_->fd() : -1; }  // readable when there is news

  // Its address and its number of connections: another worker may fetch there too. Empty, 0: there is none.
  std::string endpoint() const { return lane_ ? endpoint_ : std::string(); }
  std::size_t most_streams() const { return lane_ ? most_streams_ : 0; }

  bool takes(const Object& object) const { return lane_ && object.total_bytes() >= bulk::kWorthTheLane; }
  void expect(const ObjectId& id);  // it will come over a lane: this one, or another worker's
  void offer(const ObjectId& id, const std::vector<Buffer>& parts);
  bool carries(const ObjectId& id) const { return expected_.contains(id); }  // and it is not there yet
  void arrived(const ObjectId& id);

  bool fetch(const TaskId& task, const Incoming& outcome);  // false: there is no lane
  void stop(const TaskId& task);
  std::optional<bulk::Position> reached(const TaskId& task) const;  // nullopt: it is not fetched

  struct News {
    std::vector<TaskId> whole;  // tasks whose outcome has come, whatever became of the lane
    std::optional<bulk::Lost> lost;
  };
  News news();
  // Data goes on over another lane, or over the data connection. `stood`: the connection lasted for a while.
  void lost(const bulk::Lost& loss, bool stood);

  // When its connections, each with a thread and descriptors at either end, are not worth their cost any more:
  // nothing is under way, and nothing was for a while. Never where there are none.
  TimePoint unused_at() const;

  void close();   // nothing comes any more; reached() and news() still say what came
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

}  // namespace pounce::client
