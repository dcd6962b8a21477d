// Bytes that several holders keep alive without copying: owned, or borrowed (from a Python buffer). The last holder's
// release calls the lender's callback once, on any thread (ZeroMQ's included), so the callback must not block and
// must not take the GIL. Thread: any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace pounce::worker {

class Bytes {
 public:
  explicit Bytes(std::string own) : own_(std::move(own)), view_(std::as_bytes(std::span(own_))) {}
  Bytes(std::span<const std::byte> borrowed, std::function<void()> release)
      : view_(borrowed), release_(std::move(release)) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (release_) release_();
  }
  std::span<const std::byte> view() const { return view_; }
  std::size_t size() const { return view_.size(); }

 private:
  std::string own_;
  std::span<const std::byte> view_;
  std::function<void()> release_;
};

using SharedBytes = std::shared_ptr<const Bytes>;
inline SharedBytes own_bytes(std::string bytes) { return std::make_shared<const Bytes>(std::move(bytes)); }

}  // namespace pounce::worker
