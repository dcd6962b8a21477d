#include "device/shared_library.h"

#include <dlfcn.h>

namespace pounce::device {

std::optional<SharedLibrary> SharedLibrary::open(const std::string& name, std::string* why) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(name, handle);
  const char* words = ::dlerror();
  if (why != nullptr && words != nullptr) *why = words;
  return std::nullopt;
}

void* SharedLibrary::address(const char* name) {
  void* found = ::dlsym(handle_, name);
  if (found == nullptr) missing_ = name;
  return found;
}

}  // namespace pounce::device
