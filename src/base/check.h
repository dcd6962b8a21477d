// POUNCE_CHECK: a broken invariant is a programmer's error; it stays on in release builds.
// Header-only so that the pure core can use it without linking anything. A failed check calls the handler that
// the program installed; without one, or when the handler returns, the process traps.
#pragma once

namespace pounce {

using CheckHandler = void (*)(const char* condition, const char* message, const char* file, int line);
inline CheckHandler check_handler = nullptr;

[[noreturn]] inline void check_failed(const char* condition, const char* message, const char* file, int line) {
  if (check_handler != nullptr) check_handler(condition, message, file, line);
  __builtin_trap();
}

}  // namespace pounce

#define POUNCE_CHECK(condition, message)               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::pounce::check_failed(#condition, message, __FILE__, __LINE__))
