// A library of the driver's or of NVIDIA's, opened by name at its first use and never linked, so that one build runs
// on nodes with and without GPUs. It is never closed, since it may have threads of its own. Thread: any (a value).
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>
#include <utility>

namespace pounce::device {

class SharedLibrary {
 public:
  // nullopt: it is not there; `why`, if given, gets the loader's text.
  static std::optional<SharedLibrary> open(const std::string& name, std::string* why = nullptr) {
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(name, handle);
    const char* words = ::dlerror();
    if (why != nullptr && words != nullptr) *why = words;
    return std::nullopt;
  }

  // False: the library has no such function, and its name is in missing().
  template <class Function>
  bool find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(address(name));
    return function != nullptr;
  }
  const std::string& missing() const { return missing_; }
  const std::string& name() const { return name_; }

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  void* address(const char* name) {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr) missing_ = name;
    return found;
  }

  std::string name_, missing_;
  void* handle_;
};

}  // namespace pounce::device
