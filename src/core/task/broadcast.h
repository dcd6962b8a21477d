// Who fetches a large object from whom, when several workers want it: from the client, or from a worker that has it. Each of
// them gives it to one at a time, so that k workers have it after about log2 k turns, and nobody sends it more often than
// that. Workers of one machine get it from each other, as memory: it comes there once. A worker out of reach holds nobody up. Pure: no I/O, no clock, no thread. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/task/events.h"

namespace pounce::task {

class Broadcast {
 public:
  struct Fetch {
    ObjectId object;
    Place to;
    std::optional<Place> from;  // nullopt: the client
    bool operator==(const Fetch&) const = default;
  };
  struct Decisions {
    std::vector<Fetch> over, begin;  // to be told in this order
    std::vector<ObjectId> settled;   // for each wish that came true or was given up
  };

  Decisions wants(const ObjectId& object, const Place& place, const std::string& machine = {});  // empty: one of its own
  // By a task of that worker, which copies it to where others fetch it from: then it has it, or that failed, and whoever
  // wants it waits so long.
  void made(const ObjectId& object, const Place& place, const std::string& machine = {});
  Decisions has(const ObjectId& object, const Place& place);
  Decisions refused(const ObjectId& object, const Place& place);  // it does not get it
  // Its source does not give it: it comes from the client, and that source is asked by nobody any more.
  Decisions failed(const ObjectId& object, const Place& place);
  Decisions slow(const Place& place);  // it is silent: its sources serve others meanwhile
  Decisions gone(const Place& place);  // and with it what it wants, has or fetches
  void dropped(const ObjectId& object, const Place& place);
  void forget(const ObjectId& object);  // that nobody wants

 private:
  struct UnderWay {
    std::optional<Place> from;
    bool counts = true;  // its source is busy with it
  };
  struct Waiting {
    Place place;
    bool from_client = false;
  };
  struct Spread {
    std::uint32_t by_client = 0;             // how often it was given
    std::map<Place, std::uint32_t> sources;  // that have it, and how often they gave it
    std::deque<Waiting> waiting;
    std::map<Place, UnderWay> under_way;
    std::map<Place, std::string> asked;      // on which machine each is

    bool beside(const Place& one, const Place& other) const;
    bool busy(const std::optional<Place>& source) const;
    std::optional<std::optional<Place>> source_for(const Waiting& one, std::uint32_t most) const;
    std::optional<Place> least_asked(const std::function<bool(const Place& source, std::uint32_t gave)>& may) const;
    std::uint32_t& given_by(const std::optional<Place>& source);
  };

  Decisions settle(const ObjectId& object, const Place& place, bool has_it);
  static void end_fetch(const ObjectId& object, Spread& spread, const Place& place, Decisions& decisions);
  static void begin_what_can(const ObjectId& object, Spread& spread, Decisions& decisions);

  std::map<ObjectId, Spread> spreads_;
};

}  // namespace pounce::task
