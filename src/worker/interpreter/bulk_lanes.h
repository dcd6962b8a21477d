// The bulk lanes of an interpreter: one port, opened when the first client on another machine attaches, a lane for each
// such client, and the lanes between it and other workers of the same client. Thread: the leader token's holder.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulk/acceptor.h"
#include "bulk/lane.h"
#include "model/ids.h"
#include "transport/event_loop.h"

namespace pounce::worker {

// Lanes from one worker to another, of the same client: objects that this one serves, and objects that it fetches. The
// client chooses who serves whom, and the keys.
class PeerLanes {
 public:
  // The name of a reader on the serving worker.
  static std::string name_of(const SessionId& session, const ObjectId& object, const std::string& to);

  // False: no descriptor is left.
  bool serve(const SessionId& session, const std::string& reader, const ObjectId& object, std::vector<Bytes> parts);
  bool let_in(const std::string& reader, std::unique_ptr<tls::Channel>& accepted);  // false: no such reader
  void end_serving(const SessionId& session, const std::string& reader) { serving_.erase({session, reader}); }

  // False: the fetch cannot begin.
  bool fetch(const SessionId& session, const ObjectId& object, const std::string& source, std::string_view keys,
             std::vector<bulk::Target> targets, Position from);
  std::optional<Position> reached(const SessionId& session, const ObjectId& object) const;
  void end_fetch(const SessionId& session, const ObjectId& object) { fetching_.erase({session, object}); }
  std::vector<ObjectId> fetched_by(const SessionId& session) const;
  void stop_fetches(const SessionId& session);  // closes their lanes; reached() still says how far they came
  void close(const SessionId& session);

  void add_to(transport::PollSet& polled) const;
  struct Event {
    SessionId session;
    ObjectId object;
    bulk::Event event;
  };
  std::vector<Event> events();  // of the fetches

 private:
  std::map<std::pair<SessionId, std::string>, bulk::Lane> serving_;
  std::map<std::pair<SessionId, ObjectId>, bulk::Lane> fetching_;
};

class BulkLanes {
 public:
  // Sets where the port is bound, in the form of a data socket's endpoint.
  void listen_at(std::string endpoint) { endpoint_ = std::move(endpoint); }

  struct Invitation {
    std::string endpoint, keys;  // as in Attached
  };
  std::optional<Invitation> invite(const SessionId& session);  // nullopt: there can be no lane
  bulk::Lane* lane(const SessionId& session);                  // null: no lane, or its client has not connected yet
  void close(const SessionId& session);                        // ends its connections; it cannot connect again
  void dismiss(const SessionId& session);  // also ends the lanes between it and other workers of that client
  PeerLanes& peers() { return peers_; }
  // Lets the holder of one of these keys fetch these parts. `reader` is its name here. False: there is no port.
  bool serve(const SessionId& session, const std::string& reader, const ObjectId& object, std::vector<Bytes> parts,
             std::string_view keys);
  void end_serving(const SessionId& session, const std::string& reader);

  void add_to(transport::PollSet& polled);
  void accept_waiting(const transport::PollSet& polled);  // after polling
  std::vector<std::pair<SessionId, bulk::Event>> events();
  TimePoint next_deadline() const { return acceptor_ ? acceptor_->next_deadline() : TimePoint::max(); }

 private:
  std::string endpoint_;
  bool tried_ = false;
  std::optional<std::size_t> polled_as_;
  std::unique_ptr<bulk::Acceptor> acceptor_;
  std::map<SessionId, bulk::Lane> lanes_;
  PeerLanes peers_;
};

}  // namespace pounce::worker
