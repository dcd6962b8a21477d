// Objects that lie on a device of this worker. A thread of its own copies there what came into this machine's memory,
// since a device may take seconds to open and a copy may take any time. What is fetched goes to the device piece by
// piece while it comes. Thread: the leader token's holder.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "device/devices.h"
#include "device/transfer.h"
#include "model/ids.h"
#include "transport/event_loop.h"

namespace pounce::worker {

class DeviceObjects {
 public:
  explicit DeviceObjects(std::shared_ptr<device::Devices> devices);
  ~DeviceObjects();  // waits for the copy that is under way
  DeviceObjects(const DeviceObjects&) = delete;
  DeviceObjects& operator=(const DeviceObjects&) = delete;

  // `word`: the device, as the client named it.
  Result<std::shared_ptr<device::Placement>> placement(const std::string& word, std::vector<std::uint64_t> sizes,
                                                       const ObjectId& object) const;

  struct Work {
    SessionId session;
    ObjectId object;
    std::shared_ptr<device::Placement> placement;
    std::vector<Bytes> sources;  // empty: all of it was written already
  };
  Result<void> finish(Work work);

  struct Done {
    SessionId session;
    ObjectId object;
    std::shared_ptr<device::Placement> placement;
    Result<device::Buffers> buffers;
  };
  void add_to(transport::PollSet& polled) const;
  std::vector<Done> events();

 private:
  static constexpr std::size_t kShownDigits = 8;  // as many as a Ref shows

  void serve();
  static Done done(Work work);

  std::shared_ptr<device::Devices> devices_;
  std::mutex mutex_;  // guards waiting_, done_ and over_
  std::deque<Work> waiting_;
  std::vector<Done> done_;
  bool over_ = false;
  std::condition_variable changed_;
  UniqueFd news_;       // readable while done_ is not empty
  std::thread thread_;  // starts with the first piece of work
};

}  // namespace pounce::worker
