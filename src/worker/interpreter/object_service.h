// What clients sent for tasks to use: functions and objects. An object comes in chunks, as memory, over the client's
// bulk lane, from another worker, or is a result that stays here. Its client is told when it is whole. Thread: the
// leader token's holder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/devices.h"
#include "memory/cgroup.h"
#include "model/ids.h"
#include "protocol/messages.h"
#include "transport/event_loop.h"
#include "worker/interpreter/bulk_lanes.h"
#include "worker/interpreter/clients.h"
#include "worker/interpreter/device_objects.h"
#include "worker/interpreter/object_store.h"
#include "worker/interpreter/outcomes.h"
#include "worker/interpreter/peer_memory.h"

namespace pounce::worker {

class ObjectService {
 public:
  // clients: used after construction only. package_folders: where NVIDIA's libraries may lie, besides the loader's
  // places. leased_devices: in words, as facts of the lease name them.
  ObjectService(Clients& clients, std::size_t keep_bytes, memory::RoomFor room_for,
                const std::vector<std::string>& package_folders, std::string leased_devices);

  void on(const protocol::Function& function, const DataMessage& message);
  void on(const protocol::Object& object, const DataMessage& message);
  void on(const protocol::Chunk& chunk, const DataMessage& message);
  void on(const protocol::Serve& serve, const DataMessage& message);
  void on(const protocol::Drop& drop, const DataMessage& message);
  // Makes an object of a task's result. Not ok: the client is told that there is none.
  void keep_result(const DataMessage& message, const TaskId& task, JobResult result);

  // A client attached again: it sends its functions again, and its objects from where they came to.
  std::vector<protocol::Reached> reattach(const SessionId& session, const ClientSeat& seat);
  void dismiss(const SessionId& session);

  void add_to(transport::PollSet& polled);
  void accept_waiting(const transport::PollSet& polled);  // after polling
  void follow();                                          // what came beside the data socket
  bool more() const { return !kept_results_.empty(); }    // it has work that waits for no news
  TimePoint next_deadline() const;

  const FunctionStore& functions() const { return functions_; }
  const ObjectStore& store() const { return store_; }
  memory::BlockPool& blocks() { return store_.pool(); }
  BulkLanes& lanes() { return lanes_; }
  const std::shared_ptr<device::Devices>& devices() const { return devices_; }

 private:
  void take_in(const SessionId& session, ClientSeat& seat, const PeerMemory::Wanted& wanted,
               std::shared_ptr<memory::MemoryBlock> block = {});
  Result<ObjectOffer> offer_of(const PeerMemory::Wanted& wanted, std::shared_ptr<memory::MemoryBlock> block) const;
  void begin_fetch(const SessionId& session, ClientSeat& seat, const PeerMemory::Wanted& wanted);
  void receipt(const Result<ObjectStore::Receipt>& receipt, const SessionId& session, const ObjectId& object,
               ClientSeat& seat);
  Result<void> place(const SessionId& session, const ObjectId& object);
  void follow_lanes();
  void follow(const SessionId& session, const ObjectId& object, bulk::Event& event);
  void follow_memory();
  void follow_devices();
  void follow_kept_results();
  void leave_lane(const SessionId& session);
  void leave_peers(const SessionId& session);

  Clients& clients_;
  BulkLanes lanes_;
  PeerMemory peer_memory_;
  ObjectStore store_;
  KeptResults kept_results_;
  std::shared_ptr<device::Devices> devices_;
  DeviceObjects device_objects_{devices_};
  FunctionStore functions_;
};

}  // namespace pounce::worker
