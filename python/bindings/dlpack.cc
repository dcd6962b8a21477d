#include "dlpack.h"

namespace pounce::dlpack {
namespace {

constexpr char kFresh[] = "dltensor";  // the library that adopts the capsule renames it

// Layouts of the specification.
struct DLTensor {
  void* data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64);

struct Shared {
  Tensor tensor;
  DLManagedTensor managed;
};

void let_go(DLManagedTensor* managed) { delete static_cast<Shared*>(managed->context); }

void let_go_if_fresh(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kFresh)) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kFresh));
  managed->deleter(managed);
}

}  // namespace

pybind11::capsule capsule(Tensor tensor) {
  auto shared = std::make_unique<Shared>(Shared{std::move(tensor), {}});
  Tensor& of = shared->tensor;
  shared->managed = {{of.data, {of.device_type, of.device}, static_cast<std::int32_t>(of.shape.size()), {of.code, of.bits, 1},
                      of.shape.data(), of.strides.data(), 0},
                     shared.get(), &let_go};
  PyObject* made = PyCapsule_New(&shared->managed, kFresh, &let_go_if_fresh);
  if (made == nullptr) throw pybind11::error_already_set();
  shared.release();
  return pybind11::reinterpret_steal<pybind11::capsule>(made);
}

}  // namespace pounce::dlpack
