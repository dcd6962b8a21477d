// Decides from whom each worker fetches a large object that several workers want: from the client, or from a worker
// that has it. Each source serves one fetch at a time, so that k workers have the object after about log2 k turns,
// and no source sends it more often than that. Workers of one machine get it from each other as memory, so that it
// comes to the machine once. A worker out of reach delays no other. Pure: no I/O, no clock, no thread. Thread: the
// leader token's holder.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/task/events.h"

namespace pounce::task {

class Broadcast {
 public:
  struct Fetch {
    ObjectId object;
    WorkerRef to;
    std::optional<WorkerRef> from;  // nullopt: the client
    bool operator==(const Fetch&) const = default;
  };
  struct Decisions {
    std::vector<Fetch> over, begin;  // to be told in this order
    std::vector<ObjectId> settled;   // one for each want that was met or given up
  };

  // Machine empty: it shares none.
  Decisions wants(const ObjectId& object, const WorkerRef& place, const std::string& machine = {});
  // A task of that worker made the object, and the worker copies it to where others can fetch it. Workers that want
  // it wait until it `has` the copy or was refused.
  void made(const ObjectId& object, const WorkerRef& place, const std::string& machine = {});
  Decisions has(const ObjectId& object, const WorkerRef& place);
  Decisions refused(const ObjectId& object, const WorkerRef& place);  // the worker does not get it
  // The source does not serve it: this fetch comes from the client, and no fetch uses that source any more.
  Decisions failed(const ObjectId& object, const WorkerRef& place);
  Decisions slow(const WorkerRef& place);  // it is silent: its sources serve others meanwhile
  Decisions gone(const WorkerRef& place);  // and with it what it wants, has or fetches
  void dropped(const ObjectId& object, const WorkerRef& place);
  void forget(const ObjectId& object);  // if no worker wants it

 private:
  struct UnderWay {
    std::optional<WorkerRef> from;
    bool counts = true;  // its source is busy with it
  };
  struct Waiting {
    WorkerRef place;
    bool from_client = false;
  };
  struct Spread {
    std::uint32_t by_client = 0;                 // how often the client sent it
    std::map<WorkerRef, std::uint32_t> sources;  // the workers that have it, and how often each sent it
    std::deque<Waiting> waiting;
    std::map<WorkerRef, UnderWay> under_way;
    std::map<WorkerRef, std::string> machines;  // of the workers that want the object or have it

    bool beside(const WorkerRef& one, const WorkerRef& other) const;
    bool busy(const std::optional<WorkerRef>& source) const;
    std::optional<std::optional<WorkerRef>> source_for(const Waiting& one, std::uint32_t most) const;
    std::optional<WorkerRef> least_used(
        const std::function<bool(const WorkerRef& source, std::uint32_t gave)>& may) const;
    std::uint32_t& given_by(const std::optional<WorkerRef>& source);
  };

  Decisions settle(const ObjectId& object, const WorkerRef& place, bool has_it);
  static void end_fetch(const ObjectId& object, Spread& spread, const WorkerRef& place, Decisions& decisions);
  static void begin_what_can(const ObjectId& object, Spread& spread, Decisions& decisions);

  std::map<ObjectId, Spread> spreads_;
};

}  // namespace pounce::task
