// Lanes between workers of the same client: objects that this worker serves, and objects that it fetches. The client
// chooses which worker serves which one, and their keys. Thread: the leader token's holder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulk/lane.h"
#include "pounce/ids.h"
#include "transport/poll_set.h"

namespace pounce::worker {

class Relays {
 public:
  // The name of a reader on the serving worker.
  static std::string name_of(const SessionId& session, const ObjectId& object, const std::string& to);

  // False: no descriptor is left.
  bool serve(const SessionId& session, const std::string& reader, const ObjectId& object, std::vector<bulk::Offered> parts);
  bool let_in(const std::string& reader, std::unique_ptr<tls::Channel>& accepted);  // false: no such reader
  void end_serving(const SessionId& session, const std::string& reader) { serving_.erase({session, reader}); }

  // False: the fetch cannot begin.
  bool fetch(const SessionId& session, const ObjectId& object, const std::string& source, std::string_view keys, std::vector<bulk::Target> targets,
             bulk::Position from);
  std::optional<bulk::Position> reached(const SessionId& session, const ObjectId& object) const;
  void end_fetch(const SessionId& session, const ObjectId& object) { fetching_.erase({session, object}); }
  std::vector<ObjectId> fetched_by(const SessionId& session) const;
  void stop_fetches(const SessionId& session);  // closes their lanes; reached() still says how far they came
  void close(const SessionId& session);

  void add_to(transport::PollSet& polled) const;
  struct News {
    SessionId session;
    ObjectId object;
    bulk::Event event;
  };
  std::vector<News> events();  // of the fetches

 private:
  std::map<std::pair<SessionId, std::string>, bulk::Lane> serving_;
  std::map<std::pair<SessionId, ObjectId>, bulk::Lane> fetching_;
};

}  // namespace pounce::worker
