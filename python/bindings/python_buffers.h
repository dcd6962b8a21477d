// Python's buffers as our bytes, and our bytes as Python's. With the GIL, except where noted.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"

namespace pounce {

// Buffers that nothing sends any more: their last holder may have been ZeroMQ's thread, so they wait for a thread with
// the GIL.
class ReleasedBuffers {
 public:
  void add(Py_buffer* view);                 // any thread, without the GIL
  bool pending() const { return pending_; }  // likewise
  void release();

 private:
  std::mutex mutex_;  // guards views_
  std::vector<Py_buffer*> views_;
  std::atomic<bool> pending_ = false;
};

ReleasedBuffers& released_buffers();

struct ReleaseBuffer {
  void operator()(Py_buffer* view) const;
};
using BufferView = std::unique_ptr<Py_buffer, ReleaseBuffer>;

BufferView view_of(pybind11::handle object);  // in C or Fortran order
std::span<const std::byte> bytes_of(const Py_buffer& view);
Bytes borrowed(BufferView view);  // given back by released_buffers()
Bytes copied(const Py_buffer& view);

// A `Memory`, which Python can write to.
pybind11::object writable(WritableBytes memory);
// `bytes` if there are fewer: cheaper than a buffer object.
pybind11::object to_python(WritableBytes memory, std::size_t copy_below);

// A buffer of a result, which is lent only if it cannot change before it is sent: no other code can reach it.
class PendingBuffer {
 public:
  explicit PendingBuffer(pybind11::handle object);
  // Call it when the result's own references are gone.
  Bytes settle(std::size_t copy_below);

 private:
  BufferView view_;
};

}  // namespace pounce
