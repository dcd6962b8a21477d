#include "python_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bindings.h"

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

Bytes copied(const Py_buffer& view) {
  return own_bytes(std::string(static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)));
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
      .def("__len__", &WritableBytes::size, "(self) -> int");
}

}  // namespace pounce
