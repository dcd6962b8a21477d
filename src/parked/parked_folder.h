// The folder with the saved variables of this user's notebooks, one folder per notebook (docs/state.md). Only this
// user's folders are read or removed, and nothing through a link; everything else there stays, including the key.
// Thread: any, one at a time; blocks as the file system does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "parked/saved_state.h"
#include "pounce/result.h"

namespace pounce::parked {

class ParkedFolder {
 public:
  // nullopt: there is no folder, so nothing is saved. Error: it is a link, of another user, or writable for others.
  static Result<std::optional<ParkedFolder>> open(const std::string& path);

  std::vector<std::string> ids() const;  // of the states, sorted; only some if there are very many
  std::vector<std::string> leftovers() const;  // states that are put aside but not removed yet

  Result<SavedState> state(const std::string& name) const { return SavedState::open(root_.get(), name); }

  // Renames the state at once and returns the new name: removing the files may take a while.
  Result<std::string> put_aside(const std::string& id) const;

  enum class Left { kNothing, kMore, kStuck };
  // Removes at most `most` files of a state that was put aside, and its folder when that is empty. kStuck: some files
  // cannot be removed now.
  Left remove_some(const std::string& aside, std::size_t most) const;

 private:
  explicit ParkedFolder(UniqueFd root) : root_(std::move(root)) {}

  UniqueFd root_;
};

}  // namespace pounce::parked
