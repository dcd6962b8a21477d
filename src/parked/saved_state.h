// One saved state on the disk: an open folder of this user. Its files are opened relative to it and never through a
// link. Thread: any, one at a time; blocks as the file system does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "pounce/result.h"

namespace pounce::parked {

inline constexpr char kAbout[] = "about.json";

class SavedState {
 public:
  // Opens it in the open folder `root`. kBadRequest: a link, no folder, of another user, or writable for others.
  static Result<SavedState> open(int root, const std::string& name);

  // Seconds since 1970. Saved: the time of the newest manifest; 0 if there is none. Used: the last time of a
  // manifest, of a worker that took the state up or of the kernel's about.json; before any of these, the time of
  // creation. nullopt: cannot be told now.
  std::optional<std::int64_t> saved_s() const;
  std::optional<std::int64_t> used_s() const;

  // nullopt: nothing has been saved yet.
  Result<std::optional<std::string>> manifest() const;
  Result<std::string> about() const;
  std::uint64_t bytes() const;  // total size of its readable files

  // Removes at most `most` files and returns how many it removed. Leaves everything that is not a file.
  std::size_t remove_some(std::size_t most) const;

 private:
  explicit SavedState(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<std::string> read(const std::string& name, std::size_t most_bytes) const;

  UniqueFd folder_;
};

}  // namespace pounce::parked
