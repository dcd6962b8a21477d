// What a supervisor and its interpreter share: a socketpair for messages, and a page of memory that outlives the
// interpreter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "model/ids.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "protocol/stream_framing.h"

namespace pounce::worker {

// The socketpair: whole headers, length-prefixed; neither side ever blocks on it. Thread: the owner's (the supervisor's
// loop; the interpreter's leader token holder).
class RecordSocket {
 public:
  explicit RecordSocket(UniqueFd fd);

  int fd() const { return fd_.get(); }
  bool open() const { return open_; }
  // Reads what has arrived; next() then gives the whole messages. Closes when the peer hung up or sent an invalid
  // message.
  void fill();
  std::optional<protocol::Header> next();
  void send(const protocol::Header& header);
  bool unsent() const { return !outgoing_.empty(); }
  void flush();

 private:
  UniqueFd fd_;  // open until destruction, so that the number is not polled after it was reused
  bool open_ = true;
  protocol::RecordReader reader_;
  std::string outgoing_;
};

// The page: which tasks were started here and not yet acknowledged, and which one runs. The interpreter writes it
// before it runs anything, so that after SIGKILL, a segmentation fault or os._exit the supervisor still knows exactly
// which tasks may have run, which no message could promise. What the interpreter reads of its own output lies here too
// until the log has it: a reader that dies between the two takes nothing along. Thread: the interpreter's leader token
// holder writes; the supervisor reads after the interpreter is dead.
class RunPage {
 public:
  static constexpr std::size_t kTasks = 128, kWordBytes = 256 * 1024;

  static Result<UniqueFd> make();  // the memfd, to inherit
  static Result<RunPage> map(int fd);
  RunPage(RunPage&& other) noexcept;
  RunPage& operator=(RunPage&&) = delete;
  ~RunPage();

  void clear();
  void started(const TaskId& task);
  void ended();
  void acknowledged(const TaskId& task);
  void give_up();  // the process is about to end itself, since its cancelled task does not stop

  // Bytes without output are zero. No length is stored: the process may die between the bytes and their length.
  std::span<char> words() { return page_->words; }
  std::string_view unlogged() const;

  std::optional<TaskId> running() const;
  bool gave_up() const { return page_->runs.gave_up != 0; }
  // nullopt: more than kTasks were started and not acknowledged, so the list is not complete.
  std::optional<std::vector<TaskId>> unacknowledged() const;

 private:
  struct Runs {
    std::array<std::array<std::uint8_t, TaskId::kBytes>, kTasks> tasks;  // zero = free
    std::array<std::uint8_t, TaskId::kBytes> running;
    std::uint32_t overflowed, gave_up;
  };
  struct Layout {
    Runs runs;
    std::array<char, kWordBytes> words;
  };
  explicit RunPage(Layout* page);
  void find_free();

  Layout* page_;
  // The slot of each task, so that no search is needed. Only the writer uses it.
  std::unordered_map<TaskId, std::size_t> places_;
  std::vector<std::size_t> free_;  // the last one is used next
};

}  // namespace pounce::worker
