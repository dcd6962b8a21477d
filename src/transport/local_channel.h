// A client's connection to a worker on its own machine. Thread: the leader token's holder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/curve_key.h"
#include "transport/channel.h"
#include "transport/local_stream.h"

namespace pounce::transport {

class LocalChannel final : public Channel {
 public:
  // Null: no worker listens there, or one of another user. Does not block.
  static std::unique_ptr<LocalChannel> connect(const PublicKey& worker, std::size_t max_frame_bytes);

  std::optional<Message> receive() override;
  Sent send(Message& frames) override;
  void flush() override { stream_.flush(); }
  std::optional<Link> link_event() override;
  bool ready(bool to_send) override;
  int fd() const override { return stream_.fd(); }
  bool unsent() const override { return stream_.unsent(); }
  bool passes_memory() const override { return true; }
  bool gathers() const override { return true; }

 private:
  explicit LocalChannel(LocalStream stream) : stream_(std::move(stream)) {}

  LocalStream stream_;
  std::optional<Message> next_;
  bool told_connected_ = false, told_lost_ = false;
};

}  // namespace pounce::transport
