// The output of a task, kept in a folder where a later client reads it from the beginning and follows it
// (python/pounce/kept; docs/come-back.md). A thread of its own writes: a file system that hangs must
// not stop the worker's other work, nor the task. What it cannot keep is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pounce::worker {

// How much came before a place in the output, kept or not. Of printed text the ends of lines count.
struct OutputCount {
  std::uint64_t lines = 0, displays = 0;
  bool operator==(const OutputCount&) const = default;
};

// Files 00000001.out, 00000002.out, … of an eighth of most_bytes each; beyond most_bytes the oldest is removed. The
// first line of each is the count of what came before it, {"lines":0,"displays":0}. Then come the outputs: a line
// {"kind":"stdout","sizes":[5]}, and so many bytes. Kinds: stdout, stderr and message (JSON, then its buffers). The
// file `beat` is written every kBeat while the task runs; `end` at its end.
class KeptOutput {
 public:
  static constexpr std::chrono::seconds kBeat{2};
  static constexpr std::size_t kMostWaiting = 16 * 1024 * 1024;  // what the file system has not taken; more is dropped

  KeptOutput(std::string folder, std::uint64_t most_bytes);
  ~KeptOutput();  // does not wait for a file system that hangs
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

  void add(std::string_view kind, const std::vector<std::string_view>& parts);  // any thread, at once

  // Has all of it written, and `last` as the file `end`, all at once. Waits so long at most. Returns why something is
  // not kept; empty: nothing went wrong.
  std::string end(std::string last, std::chrono::milliseconds wait);

 private:
  struct Shared;  // with the thread, which may outlive this object in a system call
  static void serve(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace pounce::worker
