// The folder in which the saved variables of this user's notebooks lie, one folder for each notebook (docs/state.md). Only
// folders of this user's are looked at or removed, and nothing through a link; whatever else lies there stays, the key too.
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
  // nullopt: there is none, so nothing is saved. An error: it is a link, another's, or others may write to it.
  static Result<std::optional<ParkedFolder>> open(const std::string& path);

  std::vector<std::string> ids() const;  // of the states, sorted; of very many some
  std::vector<std::string> leftovers() const;  // put aside, and not removed yet

  Result<SavedState> state(const std::string& name) const { return SavedState::open(root_.get(), name); }

  // Out of everybody's way at once, under the name that it returns: removing the files may take a while.
  Result<std::string> put_aside(const std::string& id) const;

  enum class Left { kNothing, kMore, kStuck };
  // Removes files of what was put aside, at most so many, and the folder when it is empty. kStuck: something stays for now.
  Left remove_some(const std::string& aside, std::size_t most) const;

 private:
  explicit ParkedFolder(UniqueFd root) : root_(std::move(root)) {}

  UniqueFd root_;
};

}  // namespace pounce::parked
