// Objects that one worker has and another worker of the same client on the same machine needs: the memory itself is
// handed over, and both keep it. This is tried before a bulk lane is made between them. On another machine, in
// another network namespace, or between processes of different users no source is found, and the lane is used.
// Thread: the leader token's holder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "transport/local_channel.h"
#include "worker/interpreter/object_store.h"

namespace pounce::worker {

class PeerMemory {
 public:
  // Lets the holder of the keys take the object until end_serving(). Does nothing where the memory cannot be sealed
  // against writing.
  void serve(const SessionId& session, const std::string& reader, std::string_view keys, ObjectOffer lying);
  void end_serving(const SessionId& session, const std::string& reader) { serving_.erase({session, reader}); }

  struct Wanted {  // an announcement
    protocol::Object object;
    std::string pickle, keys;
  };
  bool take(const SessionId& session, const Wanted& wanted, TimePoint now);  // false: its source is not on this machine
  void end_taking(const SessionId& session, const ObjectId& object) { taking_.erase({session, object}); }
  void stop_taking(const SessionId& session);
  void close(const SessionId& session);

  void add_to(transport::PollSet& polled);
  void accept_waiting(const transport::PollSet& polled);  // after polling
  TimePoint next_deadline() const;
  struct Event {
    SessionId session;
    Wanted wanted;
    std::optional<ObjectOffer> came;  // nullopt: it does not come this way
  };
  std::vector<Event> events(TimePoint now);

 private:
  struct Serving {
    std::unique_ptr<transport::LocalServer> server;
    ObjectOffer lying;
  };
  struct Taking {
    std::unique_ptr<transport::LocalChannel> channel;
    Wanted wanted;
    TimePoint until;
  };

  static void answer(Serving& serving);
  static std::optional<ObjectOffer> came(const Wanted& wanted, const transport::Message& message);

  std::map<std::pair<SessionId, std::string>, Serving> serving_;
  std::map<std::pair<SessionId, ObjectId>, Taking> taking_;
};

}  // namespace pounce::worker
