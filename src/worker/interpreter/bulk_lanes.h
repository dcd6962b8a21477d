// The bulk lanes of an interpreter's clients on other machines: one port, opened when the first of them attaches, and
// a lane for each client. Thread: the leader token's holder.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bulk/acceptor.h"
#include "bulk/lane.h"
#include "pounce/ids.h"
#include "transport/poll_set.h"
#include "worker/interpreter/relays.h"

namespace pounce::worker {

class BulkLanes {
 public:
  // Sets where the port is bound, in the form of a data socket's endpoint.
  void listen_at(std::string endpoint) { endpoint_ = std::move(endpoint); }

  struct Invitation {
    std::string endpoint, keys;  // as in Attached
  };
  std::optional<Invitation> invite(const SessionId& session);  // nullopt: there can be no lane
  bulk::Lane* lane(const SessionId& session);  // null: no lane, or its client has not connected yet
  void close(const SessionId& session);        // ends its connections; it cannot connect again
  void dismiss(const SessionId& session);      // also ends the lanes between it and other workers of that client
  Relays& relays() { return relays_; }
  // Lets the holder of one of these keys fetch these parts. `reader` is its name here. False: there is no port.
  bool serve(const SessionId& session, const std::string& reader, const ObjectId& object, std::vector<bulk::Offered> parts, std::string_view keys);
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
  Relays relays_;
};

}  // namespace pounce::worker
