#include "client/travelling.h"

#include <algorithm>
#include <array>

namespace pounce::client {
namespace {

// "CONDA_*": every longer name of letters, digits and _ that begins so.
constexpr std::array<std::string_view, 34> kTravels = {
    "PATH", "LD_LIBRARY_PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ",                     // the user's
    "LANG", "LANGUAGE", "LC_*",                                                                        // language
    "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_*",                      // Python's
    "MODULEPATH", "MODULESHOME", "LOADEDMODULES", "_LMFILES_", "LMOD_*",                               // modules loaded
    "OMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "NUMEXPR_*", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS",  // threads
    "CUDA_HOME", "CUDA_PATH", "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME", "MPLBACKEND", "MPLCONFIGDIR"};   // libraries

bool word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

bool travels(std::string_view name) {
  return std::ranges::any_of(kTravels, [name](std::string_view one) {
    if (!one.ends_with('*')) return name == one;
    one.remove_suffix(1);
    return name.starts_with(one) && word(name.substr(one.size()));
  });
}

Environment travelling(const char* const* environment) {
  Environment found = environment_of(environment);
  std::erase_if(found, [](const auto& entry) { return !travels(entry.first); });
  return found;
}

}  // namespace pounce::client
