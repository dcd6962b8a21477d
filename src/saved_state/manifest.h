// The part of a saved state's manifest (python/pounce/_worker/state/manifest.py writes it) that a user asks for:
// names and a cell. The signature is not checked, because nothing here is trusted: nothing is loaded by these names,
// and the size of a state comes from its files. Pure. Thread: any (values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pounce/error.h"
#include "pounce/fields.h"

namespace pounce::saved_state {

// Also the bound for Python, which writes and reads the manifest (_core): nothing larger is written or read. A name
// takes 220 bytes and more, an array among several of one name 80, 16 MiB of a large one 68: this is enough for
// 200,000 names or 800,000 arrays.
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

// The kernel's `about.json`.
struct About {
  std::string notebook, host, python;

  static constexpr auto fields() {
    return table(field("notebook", &About::notebook, "its path, or its kernel's folder"), field("host", &About::host),
                 field("python", &About::python, "its version"));
  }
};

// kBadRequest: truncated, changed, or of another format.
Result<Manifest> read_manifest(std::string_view text);
Result<About> read_about(std::string_view text);

// The names of the user's variables, sorted.
std::vector<std::string> variables_of(const Manifest& manifest);

}  // namespace pounce::saved_state
