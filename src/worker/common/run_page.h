// Memory that the supervisor shares with the interpreter: which tasks were started here and not yet acknowledged, and
// which one runs. The interpreter writes it before it runs anything, so that after SIGKILL, a segmentation fault or
// os._exit the supervisor still knows exactly which tasks may have run; no message could promise that. Output that
// the interpreter has read lies here too until it is in the log, so a reader that dies in between loses nothing.
// Thread: the interpreter's leader token holder writes; the supervisor reads after the interpreter is dead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/ids.h"
#include "pounce/result.h"

namespace pounce::worker {

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
