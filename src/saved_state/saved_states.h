// The folder in which the saved variables of this user's notebooks lie, and each saved state in it: one folder for each
// notebook (docs/state.md). Only folders of this user's are looked at or removed, and nothing through a link; whatever
// else lies there stays, the key too. Thread: any, one at a time; blocks as the file system does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "pounce/error.h"

namespace pounce::saved_state {

// What the folder of saved states and a state in it may hold, by name. Thread: any.
bool is_id(std::string_view name);                                      // a state's id: 16 hex digits
std::optional<std::uint64_t> epoch_of_manifest(std::string_view name);  // manifest-<epoch>.json
bool is_owner(std::string_view name);                                   // owner-<epoch>

// Calls `take` with each name in an open folder until it returns false, at most `most` times. True: those were all
// names.
bool for_each_name(int folder, std::size_t most, const std::function<bool(const std::string&)>& take);

// Files and folders of this user's that no other user may write to, opened by name in a folder that is open, never
// through a link.

// Open for reading. kBadRequest tells what is wrong.
Result<UniqueFd> open_own_folder(int at, const std::string& name);
Result<UniqueFd> open_own_file(int at, const std::string& name);

// One saved state on the disk: a folder of this user's, open. What is in it is opened relative to it.
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

class SavedStates {
 public:
  // nullopt: there is no folder, so nothing is saved. Error: it is a link, of another user, or writable for others.
  static Result<std::optional<SavedStates>> open(const std::string& path);

  std::vector<std::string> ids() const;        // of the states, sorted; only some if there are very many
  std::vector<std::string> leftovers() const;  // states that are put aside but not removed yet

  Result<SavedState> state(const std::string& name) const { return SavedState::open(root_.get(), name); }

  // Renames the state at once and returns the new name: removing the files may take a while.
  Result<std::string> put_aside(const std::string& id) const;

  enum class Left { kNothing, kMore, kStuck };
  // Removes at most `most` files of a state that was put aside, and its folder when that is empty. kStuck: some files
  // cannot be removed now.
  Left remove_some(const std::string& aside, std::size_t most) const;

 private:
  explicit SavedStates(UniqueFd root) : root_(std::move(root)) {}

  UniqueFd root_;
};

}  // namespace pounce::saved_state
