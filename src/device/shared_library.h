// A library of the driver's or of NVIDIA's, opened by name at its first use and never linked, so that one build runs
// on nodes with and without GPUs. It is never closed, since it may have threads of its own. Thread: any (a value).
#pragma once

#include <optional>
#include <string>

namespace pounce::device {

class SharedLibrary {
 public:
  // nullopt: it is not there; `why`, if given, gets the loader's text.
  static std::optional<SharedLibrary> open(const std::string& name, std::string* why = nullptr);

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
  void* address(const char* name);

  std::string name_, missing_;
  void* handle_;
};

}  // namespace pounce::device
