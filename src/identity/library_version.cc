#include "identity/library_version.h"

#include <dlfcn.h>
#include <munge.h>
#include <sodium.h>

#include <filesystem>

namespace pounce::identity {

std::string library_version() { return ::sodium_version_string(); }

std::string munge_library() {
  Dl_info where{};
  if (::dladdr(reinterpret_cast<void*>(&::munge_encode), &where) == 0 || where.dli_fname == nullptr) return "";
  std::error_code trouble;
  const auto file = std::filesystem::canonical(where.dli_fname, trouble);
  return trouble ? where.dli_fname : file.string();
}

}  // namespace pounce::identity
