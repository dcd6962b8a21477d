// A group of host devices: its ranks are threads of one process, which meet at a table that their backend keeps.
// Thread: each rank its device's.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "device/driver.h"

namespace pounce::device {

class HostMeeting;

class HostMeetings {
 public:
  std::shared_ptr<HostMeeting> of(const GroupId& id);  // the same to all who ask while one of them has it

 private:
  std::mutex mutex_;  // guards all_
  std::map<GroupId, std::weak_ptr<HostMeeting>> all_;
};

Result<std::unique_ptr<Group>> host_group(std::shared_ptr<HostMeeting> meeting, Rank rank, std::uint32_t ranks);

}  // namespace pounce::device
