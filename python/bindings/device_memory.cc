#include "device_memory.h"

#include <pybind11/stl.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>

#include "bindings.h"
#include "device/communicator.h"
#include "records.h"

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
  shared->managed = {{of.data,
                      {of.device_type, of.device},
                      static_cast<std::int32_t>(of.shape.size()),
                      {of.code, of.bits, 1},
                      of.shape.data(),
                      of.strides.data(),
                      0},
                     shared.get(),
                     &let_go};
  PyObject* made = PyCapsule_New(&shared->managed, kFresh, &let_go_if_fresh);
  if (made == nullptr) throw pybind11::error_already_set();
  shared.release();
  return pybind11::reinterpret_steal<pybind11::capsule>(made);
}

}  // namespace pounce::dlpack

namespace py = pybind11;

namespace pounce {
namespace {

using device::DeviceName;

bool is_cuda(const DeviceMemory& memory) { return memory.placed->device.kind == DeviceName::Kind::kCuda; }

py::capsule to_dlpack(const DeviceMemory& memory, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                      std::uint8_t code, std::uint8_t bits) {
  const auto which = static_cast<std::int32_t>(memory.placed->device.which.value);
  return dlpack::capsule({memory.buffer().data(), is_cuda(memory) ? dlpack::kCuda : dlpack::kCpu,
                          is_cuda(memory) ? which : 0, code, bits, std::move(shape), std::move(strides),
                          memory.placed});
}

// Copies into host memory that only the caller uses.
void read_into(const DeviceMemory& memory, const py::buffer& into) {
  const py::buffer_info info = into.request(true);
  if (static_cast<std::size_t>(info.size * info.itemsize) != memory.buffer().size())
    throw py::value_error("it is not of the same size");
  auto* to = static_cast<std::byte*>(info.ptr);
  without_gil([&]() -> Result<void> {
    for (device::Download download(memory.buffer());;) {
      const auto piece = download.next();
      if (!piece) return failure(piece.error());
      if (piece->empty()) return {};
      std::memcpy(to, piece->data(), piece->size());
      to += piece->size();
    }
  });
}

struct Devices {
  std::shared_ptr<device::Devices> all;

  Result<std::shared_ptr<device::Device>> open(const std::string& word) const {
    return DeviceName::parse(word).and_then([&](const DeviceName& name) { return all->open(name); });
  }

  Result<DeviceMemory> take(const std::string& word, std::size_t bytes, const std::string& holder) const {
    const auto name = DeviceName::parse(word);
    if (!name) return failure(name.error());
    return all->open(*name)
        .and_then([&](const auto& device) { return device->allocate(bytes, holder); })
        .map([&](device::Buffer buffer) {
          auto placed = std::make_shared<device::Placed>(*name);
          placed->buffers.push_back(std::move(buffer));
          return DeviceMemory{std::move(placed), 0};
        });
  }

  DeviceMemory allocated(const std::string& word, std::size_t bytes, const std::string& holder) const {
    return without_gil([&] { return take(word, bytes, holder); });
  }

  DeviceMemory put(const std::string& word, const py::buffer& bytes, const std::string& holder) const {
    const py::buffer_info info = bytes.request();
    const std::span from(static_cast<const std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize));
    return without_gil([&]() -> Result<DeviceMemory> {
      auto memory = take(word, from.size(), holder);
      if (!memory) return memory;
      device::Upload upload(memory->buffer());
      return upload.write(from).and_then([&] { return upload.finish(); }).map([&] { return std::move(*memory); });
    });
  }

  std::vector<std::string> visible(const std::string& word) const {
    const auto facts = without_gil([&] {
      return DeviceName::parse(word).and_then([&](const DeviceName& name) { return all->visible(name.kind); });
    });
    std::vector<std::string> uuids;
    for (const device::DeviceFacts& each : facts) uuids.push_back(each.uuid);
    return uuids;
  }

  device::GroupId new_group(const std::string& word) const {
    return without_gil([&] {
      return DeviceName::parse(word).and_then([&](const DeviceName& name) { return all->new_group(name.kind); });
    });
  }

  // The bytes that pounce holds on each device.
  std::map<std::string, std::uint64_t> held() const {
    std::map<std::string, std::uint64_t> by_name;
    for (const auto& [name, use] : all->use()) by_name[name.text()] = use.bytes;
    return by_name;
  }
};

// This worker does not track arrivals: the gang's client does.
class HeardElsewhere final : public device::Attendance {
 public:
  void arrive(device::Rank, std::uint64_t) override {}
  std::optional<std::vector<device::Rank>> missing(std::uint64_t) override { return std::nullopt; }
};

class Communicator {
 public:
  Communicator(const Devices& devices, const std::string& word, const device::GroupId& group, std::uint32_t rank,
               std::uint32_t ranks)
      : communicator_(without_gil([&] { return devices.open(word); }), {group, device::Rank{rank}, ranks},
                      no_attendance_) {}

  void join(double seconds) {
    interruptible([this, limit = milliseconds(seconds)] { return communicator_.join(limit); });
  }
  void broadcast(const DeviceMemory& memory, std::uint32_t from, double seconds) {
    interruptible([this, &memory, from, limit = milliseconds(seconds)] {
      return communicator_.broadcast(memory.buffer(), device::Rank{from}, limit);
    });
  }

 private:
  static std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  }

  // Runs `act` on a thread of its own, so that this thread notices an interrupt.
  template <class Act>
  void interruptible(Act act) {
    std::future<Result<void>> done = std::async(std::launch::async, act);
    bool raised = false;
    {
      WithoutGil released;
      while (!raised && done.wait_for(kBetweenSignals) != std::future_status::ready) raised = released.signal_raised();
      if (raised) communicator_.stop();
      done.wait();
    }
    if (raised) throw py::error_already_set();
    value_of(done.get());
  }

  static constexpr std::chrono::milliseconds kBetweenSignals{50};

  HeardElsewhere no_attendance_;
  device::Communicator communicator_;
};

}  // namespace

py::list to_python(const device::Buffers& placed) {
  py::list all;
  for (std::size_t i = 0; i < placed->buffers.size(); ++i) all.append(DeviceMemory{placed, i});
  return all;
}

py::object to_python(std::shared_ptr<device::Devices> devices) { return py::cast(Devices{std::move(devices)}); }

void bind_device_memory(py::module_& m) {
  py::class_<DeviceMemory>(m, "DeviceMemory", "Memory of a device, freed with the last reference to it.")
      .def_property_readonly(
          "address",
          [](const DeviceMemory& memory) { return reinterpret_cast<std::uintptr_t>(memory.buffer().data()); },
          "int\nOf the memory on its device; 0: it has no bytes.")
      .def_property_readonly(
          "nbytes", [](const DeviceMemory& memory) { return memory.buffer().size(); }, "int")
      .def_property_readonly(
          "device", [](const DeviceMemory& memory) { return memory.placed->device.text(); }, "str\n\"cuda:0\".")
      .def("dlpack", &to_dlpack,
           "(shape: Sequence[int], strides: Sequence[int], code: int, bits: int, /) -> Any\nA capsule; strides in "
           "elements.")
      .def("read_into", &read_into, "(buffer: Any, /) -> None\nOf the same size; blocks for the copy.");
  py::class_<Devices>(m, "Devices", "The devices of this process.")
      .def("allocate", &Devices::allocated,
           "(device: str, nbytes: int, holder: str, /) -> DeviceMemory\nOpens the device, which may take seconds. "
           "Raises DeviceUnavailable, OutOfMemory.")
      .def("put", &Devices::put,
           "(device: str, data: Any, holder: str, /) -> DeviceMemory\nA copy of these bytes; blocks until it is there.")
      .def("visible", &Devices::visible,
           "(device: str, /) -> list[str]\nUUIDs of those of its kind that this process sees.")
      .def("new_group", &Devices::new_group, "(device: str, /) -> str\nIts id, for all ranks.")
      .def("held", &Devices::held, "() -> dict[str, int]\nBy device: bytes that pounce has of it.");
  py::class_<Communicator>(
      m, "Communicator",
      "One rank's place in a group of devices. Main thread only; a signal stops it. Raises Timeout, LostError, "
      "DeviceFailed; then the group is over.")
      .def(py::init<const Devices&, const std::string&, const device::GroupId&, std::uint32_t, std::uint32_t>(),
           "(devices: Devices, device: str, group: str, rank: int, ranks: int, /) -> None")
      .def("join", &Communicator::join, "(seconds: float, /) -> None")
      .def("broadcast", &Communicator::broadcast, "(memory: DeviceMemory, source: int, seconds: float, /) -> None");
  m.def(
      "one_rank_each", [](const std::vector<std::string>& uuids) { value_of(device::one_rank_each(uuids)); },
      "(uuids: Sequence[str], /) -> None\nuuids: by rank, the device that it uses. Raises BadRequest: two ranks have "
      "the same.");
}

}  // namespace pounce
