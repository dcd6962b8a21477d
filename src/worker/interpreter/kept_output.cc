#include "worker/interpreter/kept_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file_io.h"
#include "base/threads.h"
#include "base/unique_fd.h"

namespace pounce::worker {
namespace {

constexpr std::uint64_t kFiles = 8;
constexpr std::chrono::milliseconds kLeaveWait{500};

struct Piece {
  std::string bytes;  // with its line
  OutputCount count;  // of it alone
};

OutputCount& operator+=(OutputCount& sum, const OutputCount& more) {
  sum.lines += more.lines;
  sum.displays += more.displays;
  return sum;
}

Piece piece_of(std::string_view kind, const std::vector<std::string_view>& parts) {
  Piece piece{.bytes = "{\"kind\":\"" + std::string(kind) + "\",\"sizes\":[", .count = {}};
  for (std::size_t i = 0; i < parts.size(); ++i) piece.bytes += (i == 0 ? "" : ",") + std::to_string(parts[i].size());
  piece.bytes += "]}\n";
  for (const std::string_view part : parts) piece.bytes += part;
  if (kind == "message")
    piece.count.displays = 1;
  else
    for (const std::string_view part : parts)
      piece.count.lines += static_cast<std::uint64_t>(std::ranges::count(part, '\n'));
  return piece;
}

std::string first_line(const OutputCount& before) {
  return "{\"lines\":" + std::to_string(before.lines) + ",\"displays\":" + std::to_string(before.displays) + "}\n";
}

// The files of one task's output. Thread: the writer's.
class Files {
 public:
  Files(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_(most_bytes) {}

  void write(const Piece& piece) {
    const std::uint64_t size = piece.bytes.size();
    if (size <= most_ && place_for(size)) {
      if (write_all(file_.get(), piece.bytes)) {
        sizes_.back() += size;
        total_ += size;
      } else {
        failed();
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(sizes_.back())));
        file_.reset();  // the next file's first line counts what this one lacks
      }
    }
    before_ += piece.count;
  }
  // What was dropped before it came here.
  void skip(const OutputCount& count) {
    before_ += count;
    file_.reset();
  }
  void beat() {
    const UniqueFd file = opened("beat", O_CREAT);
    if (file) ::futimens(file.get(), nullptr);
  }
  void end(const std::string& last) {
    const std::string head = first_line(before_);
    UniqueFd file = opened(".end", O_CREAT | O_TRUNC);
    const bool written = file && write_all(file.get(), head + last) && ::fsync(file.get()) == 0;
    if (!written || ::rename(path(".end").c_str(), path("end").c_str()) != 0) failed();
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string path(std::uint64_t number) const {
    char name[32];
    std::snprintf(name, sizeof name, "%08llu.out", static_cast<unsigned long long>(number));
    return path(name);
  }
  UniqueFd opened(const std::string& name, int flags) const {
    return UniqueFd(::open(path(name).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  }
  void failed() { problem_ = std::strerror(errno); }

  bool place_for(std::uint64_t size) {
    if (file_ && sizes_.back() + size > most_ / kFiles) file_.reset();
    while (!sizes_.empty() && total_ + size > most_ && !(file_ && sizes_.size() == 1)) remove_oldest();
    if (!file_) open_next();
    return static_cast<bool>(file_);
  }
  void remove_oldest() {
    ::unlink(path(last_ - sizes_.size() + 1).c_str());
    total_ -= sizes_.front();
    sizes_.pop_front();
    if (sizes_.empty()) file_.reset();
  }
  void open_next() {
    UniqueFd next(::open(path(last_ + 1).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    const std::string head = first_line(before_);
    if (!next || !write_all(next.get(), head)) {
      failed();
      if (next) ::unlink(path(last_ + 1).c_str());
      return;
    }
    ++last_;
    file_ = std::move(next);
    sizes_.push_back(head.size());
    total_ += head.size();
  }

  const std::string folder_;
  const std::uint64_t most_;
  UniqueFd file_;
  std::uint64_t last_ = 0, total_ = 0;
  std::deque<std::uint64_t> sizes_;  // of the files that are there, the newest last
  OutputCount before_;
  std::string problem_;
};

}  // namespace

struct KeptOutput::Shared {
  Shared(std::string folder, std::uint64_t most_bytes) : files(std::move(folder), most_bytes) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> waiting;
  std::size_t waiting_bytes = 0;
  OutputCount dropped;  // behind what waits
  std::optional<std::string> last;
  bool over = false, done = false;  // no more comes; all of it is written
  std::string problem;              // as files says it; of the caller's thread
  Files files;                      // the writer's
};

KeptOutput::KeptOutput(std::string folder, std::uint64_t most_bytes)
    : shared_(std::make_shared<Shared>(std::move(folder), most_bytes)) {
  const BlockedSignals blocked;
  thread_ = std::thread([shared = shared_] { serve(shared); });
}

KeptOutput::~KeptOutput() {
  std::unique_lock held(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(held, kLeaveWait, [this] { return shared_->done; });
  held.unlock();
  done ? thread_.join() : thread_.detach();
}

void KeptOutput::add(std::string_view kind, const std::vector<std::string_view>& parts) {
  Piece piece = piece_of(kind, parts);
  {
    const std::lock_guard held(shared_->mutex);
    if (shared_->over) return;
    const std::size_t size = piece.bytes.size();
    const bool full = shared_->waiting_bytes > 0 && shared_->waiting_bytes + size > kMostWaiting;
    if (full || shared_->dropped != OutputCount{}) {
      shared_->dropped += piece.count;
    } else {
      shared_->waiting_bytes += size;
      shared_->waiting.push_back(std::move(piece));
    }
  }
  shared_->changed.notify_all();
}

std::string KeptOutput::end(std::string last, std::chrono::milliseconds wait) {
  std::unique_lock held(shared_->mutex);
  shared_->last = std::move(last);
  shared_->over = true;
  shared_->changed.notify_all();
  if (!shared_->changed.wait_for(held, wait, [this] { return shared_->done; }))
    return "its file system does not answer";
  return shared_->problem;
}

void KeptOutput::serve(const std::shared_ptr<Shared>& shared) {
  name_thread("pounce-kept");
  TimePoint beat_at = Clock::now();
  std::unique_lock held(shared->mutex);
  for (;;) {
    if (Clock::now() >= beat_at) {
      held.unlock();
      shared->files.beat();
      beat_at = Clock::now() + kBeat;
      held.lock();
    }
    const auto news = [&] { return shared->over || !shared->waiting.empty() || shared->dropped != OutputCount{}; };
    shared->changed.wait_until(held, beat_at, news);
    const auto pieces = std::exchange(shared->waiting, {});
    const OutputCount dropped = std::exchange(shared->dropped, {});
    const bool over = shared->over;
    const std::optional<std::string> last = over ? shared->last : std::nullopt;
    held.unlock();
    for (const Piece& piece : pieces) shared->files.write(piece);
    if (dropped != OutputCount{}) shared->files.skip(dropped);
    if (last) shared->files.end(*last);
    held.lock();
    for (const Piece& piece : pieces) shared->waiting_bytes -= piece.bytes.size();
    shared->problem = shared->files.problem();
    if (over) break;
  }
  shared->done = true;
  shared->changed.notify_all();
}

}  // namespace pounce::worker
