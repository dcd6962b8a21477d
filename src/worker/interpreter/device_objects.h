// Objects that lie on a device of this worker. What came into this machine's memory is copied there by a thread of its
// own, since a device may take seconds to open and a copy as long as it likes; what is fetched goes there piece by piece
// while it comes. Thread: the leader token's holder.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "device/devices.h"
#include "device/placement.h"
#include "pounce/ids.h"
#include "transport/poll_set.h"

namespace pounce::worker {

class DeviceObjects {
 public:
  explicit DeviceObjects(std::shared_ptr<device::Devices> devices);
  ~DeviceObjects();  // waits for the copy that is under way
  DeviceObjects(const DeviceObjects&) = delete;
  DeviceObjects& operator=(const DeviceObjects&) = delete;

  // `word`: as the client named the device.
  Result<std::shared_ptr<device::Placement>> placement(const std::string& word, std::vector<std::uint64_t> sizes, const ObjectId& object) const;

  struct Source {  // of one buffer
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> keep;
  };
  struct Work {
    SessionId session;
    ObjectId object;
    std::shared_ptr<device::Placement> placement;
    std::vector<Source> sources;  // none: all of it was written already
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
  static constexpr std::size_t kShownDigits = 8;  // as a Ref shows itself

  void serve();
  static Done done(Work work);

  std::shared_ptr<device::Devices> devices_;
  std::mutex mutex_;  // guards the next three
  std::deque<Work> waiting_;
  std::vector<Done> done_;
  bool over_ = false;
  std::condition_variable changed_;
  UniqueFd news_;  // readable when there is something in done_
  std::thread thread_;  // since the first piece of work
};

}  // namespace pounce::worker
