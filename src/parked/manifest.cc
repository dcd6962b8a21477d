#include "parked/manifest.h"

#include <algorithm>
#include <iterator>

#include "model/json.h"

namespace pounce::parked {
namespace {

constexpr std::int64_t kFormat = 1;

tl::unexpected<Error> damaged(const std::string& what) {
  return failure(ErrorCode::kBadRequest, what + " is cut off or was changed", "Remove it, and run the cells again.");
}

}  // namespace

Result<Manifest> read_manifest(std::string_view text) {
  auto read = model::parse<Manifest>(text);
  if (!read) return damaged("the list of what was saved");
  if (read->format != kFormat)
    return failure(ErrorCode::kBadRequest, "the saved state has format " + std::to_string(read->format) + ", and this pounce reads " + std::to_string(kFormat),
                   "Look at it with the version that wrote it.");
  return *std::move(read);
}

Result<About> read_about(std::string_view text) {
  auto read = model::parse<About>(text);
  return read ? Result<About>(*std::move(read)) : damaged("what tells whose notebook it is");
}

std::vector<std::string> variables_of(const Manifest& manifest) {
  std::vector<std::string> names;
  for (const Unit& unit : manifest.units)
    std::ranges::copy_if(unit.names, std::back_inserter(names), [](const std::string& name) { return !name.starts_with('_'); });
  std::ranges::sort(names);
  return names;
}

}  // namespace pounce::parked
