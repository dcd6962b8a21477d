#include "saved_state/manifest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/json.h"

namespace pounce::saved_state {
namespace {

tl::unexpected<Error> damaged(const std::string& what) {
  return failure(ErrorCode::kBadRequest, what + " is cut off or was changed", "Remove it, and run the cells again.");
}

using model::json;

template <class T>
bool is_field(std::string_view key) {
  bool found = false;
  const T any{};
  for_each_field(any, [&](const auto& field, const auto&) { found |= field.name == key; });
  return found;
}

// The parser's event handler. Most of a long list are digests, which are not needed here, and the library's own
// values take ten times the memory of their text. So it keeps only our fields and takes each unit out when it is
// complete.
class Reader {
 public:
  explicit Reader(std::vector<Unit>& units) : units_(units) {}

  bool operator()(int depth, json::parse_event_t event, const json& part) {
    if (event == json::parse_event_t::key) return is_kept(depth, part.get_ref<const std::string&>());
    if (event != json::parse_event_t::object_end || depth != kInTheUnits || list_ != "units") return true;
    units_.push_back(model::from_json<Unit>(part));
    return false;
  }

 private:
  static constexpr int kOfTheList = 1, kInTheUnits = 2, kOfAUnit = 3;

  bool is_kept(int depth, const std::string& key) {
    if (depth == kOfTheList) list_ = key;
    return depth == kOfTheList ? is_field<Manifest>(key) : depth != kOfAUnit || is_field<Unit>(key);
  }

  std::vector<Unit>& units_;
  std::string list_;  // the last top-level key
};

}  // namespace

Result<Manifest> read_manifest(std::string_view text) {
  Manifest read;
  std::vector<Unit> units;
  try {
    read = model::from_json<Manifest>(json::parse(text, Reader(units)));
  } catch (const json::exception&) {
    return damaged("the list of what was saved");
  }
  if (read.format != kManifestFormat)
    return failure(ErrorCode::kBadRequest,
                   "the saved state has format " + std::to_string(read.format) + ", and this pounce reads " +
                       std::to_string(kManifestFormat),
                   "Look at it with the version that wrote it.");
  read.units = std::move(units);
  return read;
}

Result<About> read_about(std::string_view text) {
  auto read = model::parse<About>(text);
  return read ? Result<About>(*std::move(read)) : damaged("what tells whose notebook it is");
}

std::vector<std::string> variables_of(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const Unit& unit : manifest.units)
    std::ranges::copy_if(unit.names, std::back_inserter(names),
                         [](const std::string& name) { return !name.starts_with('_'); });
  std::ranges::sort(names);
  return names;
}

}  // namespace pounce::saved_state
