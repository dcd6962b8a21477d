#include "worker/common/supervisor_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::worker {

RecordSocket::RecordSocket(UniqueFd fd) : fd_(std::move(fd)), reader_(protocol::kControlMessageBytes) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);
}

void RecordSocket::fill() {
  char buffer[16 * 1024];
  while (open()) {
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (got > 0)
      reader_.append({buffer, static_cast<std::size_t>(got)});
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
      open_ = false;
    else if (errno == EAGAIN)
      return;
  }
}

std::optional<protocol::Header> RecordSocket::next() {
  auto record = reader_.next();
  if (!record) open_ = false;
  if (!record || !*record) return std::nullopt;
  auto header = protocol::decode(**record, protocol::kControlMessageBytes);
  if (header) return std::move(*header);
  open_ = false;
  return std::nullopt;
}

void RecordSocket::send(const protocol::Header& header) {
  outgoing_ += protocol::frame_record(protocol::encode(header));
  flush();
}

void RecordSocket::flush() {
  while (open() && !outgoing_.empty()) {
    const ssize_t sent = ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent > 0)
      outgoing_.erase(0, static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR)
      open_ = false;
  }
}

namespace {

using Slot = std::array<std::uint8_t, TaskId::kBytes>;

Slot slot_of(const TaskId& task) {
  Slot slot;
  std::copy(task.bytes().begin(), task.bytes().end(), slot.begin());
  return slot;
}

tl::unexpected<Error> no_page() {
  return failure(ErrorCode::kInternal, std::string("no shared page for the interpreter: ") + std::strerror(errno));
}

}  // namespace

Result<UniqueFd> RunPage::make() {
  UniqueFd fd(::memfd_create("pounce-run", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), sizeof(Layout)) != 0) return no_page();
  return fd;
}

Result<RunPage> RunPage::map(int fd) {
  void* page = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return no_page();
  return RunPage(static_cast<Layout*>(page));
}

RunPage::RunPage(Layout* page) : page_(page) { find_free(); }

RunPage::RunPage(RunPage&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), places_(std::move(other.places_)), free_(std::move(other.free_)) {}

void RunPage::find_free() {
  places_.clear();
  free_.clear();
  for (std::size_t i = kTasks; i-- > 0;)
    if (page_->runs.tasks[i] == Slot{})
      free_.push_back(i);
    else
      places_.emplace(TaskId(page_->runs.tasks[i]), i);
}

RunPage::~RunPage() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Layout));
}

void RunPage::clear() {
  page_->runs = Runs{};
  find_free();
}

void RunPage::started(const TaskId& task) {
  if (!places_.contains(task)) {
    if (free_.empty()) {
      page_->runs.overflowed = 1;
    } else {
      page_->runs.tasks[free_.back()] = slot_of(task);
      places_.emplace(task, free_.back());
      free_.pop_back();
    }
  }
  page_->runs.running = slot_of(task);
}

void RunPage::ended() { page_->runs.running = Slot{}; }

void RunPage::acknowledged(const TaskId& task) {
  const auto place = places_.find(task);
  if (place == places_.end()) return;
  page_->runs.tasks[place->second] = Slot{};
  free_.push_back(place->second);
  places_.erase(place);
}

std::string_view RunPage::unlogged() const {
  const std::string_view all(page_->words.data(), page_->words.size());
  return all.substr(0, all.find_last_not_of('\0') + 1);
}

void RunPage::give_up() { page_->runs.gave_up = 1; }

std::optional<TaskId> RunPage::running() const {
  const TaskId task(page_->runs.running);
  return task.empty() ? std::nullopt : std::optional(task);
}

std::optional<std::vector<TaskId>> RunPage::unacknowledged() const {
  if (page_->runs.overflowed != 0) return std::nullopt;
  std::vector<TaskId> tasks;
  for (const Slot& slot : page_->runs.tasks)
    if (slot != Slot{}) tasks.emplace_back(slot);
  return tasks;
}

}  // namespace pounce::worker
