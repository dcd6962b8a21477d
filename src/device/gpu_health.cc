#include "device/gpu_health.h"

namespace pounce::device {
namespace {

constexpr char kAnotherGpu[] = "Submit again: another worker has another GPU. Show the admin this node.";

Error gpu_failed(const std::string& uuid, const std::string& why) {
  return {ErrorCode::kDeviceFailed, "the GPU " + uuid + " failed: " + why, kAnotherGpu, {{"gpu", uuid}}};
}

}  // namespace

// From NVIDIA's "XID Errors", the catalogue's immediate actions: RESTART_APP means the program, RESET_GPU and beyond
// the GPU.
XidMeaning meaning_of_xid(std::uint64_t xid) {
  switch (xid) {
    case 13:  // exception of the graphics engine, as an assertion or an illegal address in a kernel causes
    case 31:  // memory management fault
    case 43:  // stopped processing
    case 45:  // work was removed when its program ended
    case 69:  // graphics engine class error
      return XidMeaning::kProgram;
    case 48:   // error of the memory, not corrected
    case 62:   // its microcontroller halted
    case 64:   // a row of memory could not be replaced
    case 74:   // NVLink
    case 79:   // fallen off the bus
    case 95:   // error of the memory, not contained
    case 119:  // its system processor (GSP) does not answer
    case 120:  // its system processor failed
    case 140:  // error of the memory, not recovered
      return XidMeaning::kGpu;
    default:
      return XidMeaning::kUnknown;
  }
}

std::optional<Error> failure_of(const std::string& uuid, const GpuHealth& health) {
  if (health.gone) return gpu_failed(uuid, "its driver does not reach it any more");
  for (const std::uint64_t xid : health.xids)
    if (meaning_of_xid(xid) == XidMeaning::kGpu) {
      Error error = gpu_failed(uuid, "its driver reports Xid " + std::to_string(xid));
      error.context["xid"] = std::to_string(xid);
      return error;
    }
  if (health.memory_failed) return gpu_failed(uuid, "an error of its memory could not be corrected (ECC)");
  return std::nullopt;
}

}  // namespace pounce::device
