#include "device/gpu_direct_storage.h"

#include <unistd.h>

#include "device/shared_library.h"

namespace pounce::device {

std::string word(GpuDirectStorage kind) {
  constexpr const char* kWords[] = {"yes", "compat", "no"};
  return kWords[static_cast<int>(kind)];
}

GpuDirectStorage gpu_direct_storage(const std::string& module, const std::string& library) {
  if (::access(module.c_str(), F_OK) == 0) return GpuDirectStorage::kYes;
  return SharedLibrary::open(library) ? GpuDirectStorage::kCompat : GpuDirectStorage::kNo;
}

}  // namespace pounce::device
