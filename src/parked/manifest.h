// What the list of a saved state tells about it (python/pounce/_worker/state/manifest.py writes it), as far as a person asks:
// names and a cell. Its signature is not looked at, for nothing of it is believed: nothing is loaded by these names, and how
// large a state is its files say. Pure. Thread: any (values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/fields.h"
#include "pounce/result.h"

namespace pounce::parked {

// For Python too, which writes and reads it (_core): nothing larger is written, and nothing larger is read. A name takes
// 220 bytes and more, an array among several of one name 80, 16 MiB of a large one 68: this is 200,000 names, or 800,000
// arrays.
inline constexpr std::size_t kMostManifestBytes = 64 << 20;
inline constexpr std::int64_t kManifestFormat = 1;
inline constexpr std::size_t kMostAboutBytes = 4 << 20;

struct Unit {
  std::vector<std::string> names;

  static constexpr auto fields() { return table(field("names", &Unit::names, "saved and restored together")); }
};

struct Manifest {
  std::int64_t format = 0, cell = 0;
  std::vector<Unit> units;
  std::map<std::string, std::string> unparkable;

  static constexpr auto fields() {
    return table(field("format", &Manifest::format),
                 field("cell", &Manifest::cell, "the last one that it has the work of"),
                 field("units", &Manifest::units),
                 field("unparkable", &Manifest::unparkable, "names that are not saved, and why"));
  }
};

// Of the kernel, `about.json`.
struct About {
  std::string notebook, host, python;

  static constexpr auto fields() {
    return table(field("notebook", &About::notebook, "its path, or its kernel's folder"), field("host", &About::host),
                 field("python", &About::python, "its version"));
  }
};

// kBadRequest: cut off, changed, or of another format.
Result<Manifest> read_manifest(std::string_view text);
Result<About> read_about(std::string_view text);

// What the person called so; sorted.
std::vector<std::string> variables_of(const Manifest& manifest);

}  // namespace pounce::parked
