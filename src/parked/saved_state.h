// One saved state on the disk: a folder of this user's, open. What is in it is opened relative to it and never through a link.
// Thread: any, one at a time; blocks as the file system does.
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
  // In the open folder `root`. kBadRequest: a link, no folder, another's, or others may write to it.
  static Result<SavedState> open(int root, const std::string& name);

  // Seconds since 1970. Saved: the newest manifest's; 0 where there is none. Used: also when a worker took it up, or the
  // kernel wrote of itself; as long as none of that happened, when it was made. nullopt: it cannot be told today.
  std::optional<std::int64_t> saved_s() const;
  std::optional<std::int64_t> used_s() const;

  // nullopt: nothing was saved yet.
  Result<std::optional<std::string>> manifest() const;
  Result<std::string> about() const;
  std::uint64_t bytes() const;  // of its files, as far as they can be looked at

  // Removes files, at most so many; what is no file stays. How many it could.
  std::size_t remove_some(std::size_t most) const;

 private:
  explicit SavedState(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<std::string> read(const std::string& name, std::size_t most_bytes) const;

  UniqueFd folder_;
};

}  // namespace pounce::parked
