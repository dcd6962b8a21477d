#include "worker/interpreter/device_objects.h"

#include <sys/eventfd.h>

#include <system_error>

#include "base/threads.h"

namespace pounce::worker {

DeviceObjects::DeviceObjects(std::shared_ptr<device::Devices> devices)
    : devices_(std::move(devices)), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DeviceObjects::~DeviceObjects() {
  {
    const std::lock_guard held(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<device::Placement>> DeviceObjects::placement(const std::string& word,
                                                                    std::vector<std::uint64_t> sizes,
                                                                    const ObjectId& object) const {
  return device::DeviceName::parse(word).map([&](const device::DeviceName& name) {
    const auto open = [devices = devices_, name] { return devices->open(name); };
    return std::make_shared<device::Placement>(name, open, std::move(sizes),
                                               "object " + object.hex().substr(0, kShownDigits));
  });
}

Result<void> DeviceObjects::finish(Work work) {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error&) {
    return failure(ErrorCode::kOutOfMemory, "this process may have no more threads, and a device needs one");
  }
  {
    const std::lock_guard held(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
  return {};
}

void DeviceObjects::serve() {
  name_thread("pounce-place");
  std::unique_lock held(mutex_);
  for (;;) {
    changed_.wait(held, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    held.unlock();
    Done one = done(std::move(work));
    held.lock();
    done_.push_back(std::move(one));
    ::eventfd_write(news_.get(), 1);
  }
}

DeviceObjects::Done DeviceObjects::done(Work work) {
  Result<void> written;
  for (std::size_t i = 0; i < work.sources.size() && written; ++i)
    written = work.placement->write(i, 0, work.sources[i].bytes);
  auto buffers = written.and_then([&] { return work.placement->finish(); });
  return {work.session, work.object, std::move(work.placement), std::move(buffers)};
}

void DeviceObjects::add_to(transport::PollSet& polled) const {
  if (thread_.joinable()) polled.add_fd(news_.get());
}

std::vector<DeviceObjects::Done> DeviceObjects::events() {
  if (!thread_.joinable()) return {};
  eventfd_t count;
  if (::eventfd_read(news_.get(), &count) != 0) return {};
  const std::lock_guard held(mutex_);
  return std::exchange(done_, {});
}

}  // namespace pounce::worker
