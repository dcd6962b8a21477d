#include "python_buffers.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "bindings.h"
#include "memory/memory_block.h"
#include "memory/private_memory.h"

namespace py = pybind11;

namespace pounce {

void ReleaseBuffer::operator()(Py_buffer* view) const {
  PyBuffer_Release(view);
  delete view;
}

void ReleasedBuffers::add(Py_buffer* view) {
  const std::scoped_lock lock(mutex_);
  views_.push_back(view);
  pending_ = true;
}

void ReleasedBuffers::release() {
  if (!pending_) return;
  std::vector<Py_buffer*> views;
  {
    const std::scoped_lock lock(mutex_);
    views.swap(views_);
    pending_ = false;
  }
  std::ranges::for_each(views, ReleaseBuffer{});
}

ReleasedBuffers& released_buffers() {
  static auto* buffers = new ReleasedBuffers;  // never destroyed: ZeroMQ's thread may be the last to use it
  return *buffers;
}

// PickleBuffer refuses a plain request for Fortran order; its exporter answers a full request.
BufferView view_of(py::handle object) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_FULL_RO) != 0) throw py::error_already_set();
  return BufferView(view.release());
}

std::span<const std::byte> bytes_of(const Py_buffer& view) {
  return {static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
}

Bytes borrowed(BufferView view) {
  const auto bytes = bytes_of(*view);
  return {bytes, std::shared_ptr<Py_buffer>(view.release(), [](Py_buffer* done) { released_buffers().add(done); })};
}

// What is large is copied by several threads, into huge pages.
Bytes copied(const Py_buffer& view) {
  constexpr Py_ssize_t kLarge = 4 * 1024 * 1024;
  if (view.len >= kLarge) {
    const auto from = bytes_of(view);
    WritableBytes copy = memory::private_memory(from.size());
    memory::in_parts(from.size(), [&](std::size_t begin, std::size_t size) {
      std::memcpy(copy.bytes.data() + begin, from.data() + begin, size);
      return true;
    });
    return {copy.bytes, std::move(copy.keep)};
  }
  return own_bytes(std::string(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)));
}

namespace {

// True if `object` has no holder but the caller's one reference, and the same holds for the chain of arrays whose
// memory it views.
bool only_ours(PyObject* object, Py_ssize_t expected) {
  if (Py_REFCNT(object) > expected) return false;
  if (PyMemoryView_Check(object)) {
    PyObject* exporter = PyMemoryView_GET_BUFFER(object)->obj;
    return exporter != nullptr && only_ours(exporter, 1);  // the view holds it once
  }
  if (!py::hasattr(object, "base") || !py::hasattr(object, "__array_interface__")) return true;
  const py::object base = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, "base"));
  if (!base) throw py::error_already_set();
  return base.is_none() || only_ours(base.ptr(), 2);  // the array's reference and ours
}

}  // namespace

PendingBuffer::PendingBuffer(py::handle object) : view_(view_of(object)) {
  if (!PyBuffer_IsContiguous(view_.get(), 'A')) throw py::value_error("a result's buffer is not contiguous");
}

Bytes PendingBuffer::settle(std::size_t copy_below) {
  if (bytes_of(*view_).size() < copy_below || (!PyBytes_CheckExact(view_->obj) && !only_ours(view_->obj, 1)))
    return copied(*view_);
  return borrowed(std::move(view_));
}

py::object writable(WritableBytes memory) { return py::cast(std::move(memory)); }

py::object to_python(WritableBytes memory, std::size_t copy_below) {
  if (memory.size() >= copy_below) return writable(std::move(memory));
  return py::bytes(memory.text().data(), memory.size());
}

void bind_buffers(py::module_& m) {
  py::class_<WritableBytes>(m, "Memory", py::buffer_protocol(),
                            "Writable bytes: a result, or what a task gets (buffer protocol).")
      .def_buffer([](WritableBytes& memory) {
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(memory.bytes.data()),
                               static_cast<py::ssize_t>(memory.size()), false);
      })
      .def("__len__", &WritableBytes::size, "() -> int");
}

}  // namespace pounce
