// The tables behind include/pounce/error.h.
#include "pounce/error.h"

namespace pounce {
namespace {

struct Row {
  ErrorCode code;
  std::string_view wire, python, remedy;
};

constexpr Row kRows[] = {
#define POUNCE_ROW(enumerator, wire, python, remedy) {ErrorCode::enumerator, wire, python, remedy},
    POUNCE_ERROR_CODES(POUNCE_ROW)
#undef POUNCE_ROW
};

const Row& row(ErrorCode code) { return kRows[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view wire_name(ErrorCode code) { return row(code).wire; }
std::string_view python_class(ErrorCode code) { return row(code).python; }
std::string_view default_remedy(ErrorCode code) { return row(code).remedy; }

ErrorCode error_code_from_wire(std::string_view wire) {
  for (const Row& candidate : kRows)
    if (candidate.wire == wire) return candidate.code;
  return ErrorCode::kInternal;
}

}  // namespace pounce
