// One outcome on its way in: the header with what came inline, then the large buffers in chunks, straight into their
// final memory. Thread: the leader token's holder.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bulk/exchange.h"
#include "client/objects.h"
#include "memory/memory_block.h"
#include "pounce/error.h"
#include "protocol/messages.h"
#include "transport/frame.h"

namespace pounce::client {

class Incoming {
 public:
  // `frames`: the message that announced it, header frame first. kTooLarge: no memory for what it announces.
  // kProtocol: it does not lie in the memory that came with it. keep: also makes an object of the result, where there
  // is memory for that.
  static Result<Incoming> begin(protocol::Outcome header, transport::Message frames, bool keep = false);

  // Chunks come in order; others are of an earlier connection and are ignored.
  void add(const protocol::Chunk& chunk, std::span<const std::byte> bytes);
  // The outcome comes again over another connection: its chunks go on where these ended. False: it is another
  // outcome.
  bool goes_on(protocol::Outcome header);
  protocol::Reached reached() const;
  // For the bulk lane: where the parts go, and how far they came.
  std::vector<bulk::Target> targets() const;
  Position position() const { return at_; }
  void came_to(Position position);
  void came_whole() { at_ = {static_cast<std::uint32_t>(chunked_.size()), 0}; }
  bool whole() const { return at_.buffer == chunked_.size(); }
  bool chunked() const { return !chunked_.empty(); }

  const protocol::Outcome& header() const { return header_; }
  // For a whole outcome, before any of it is taken. Kept: what came is also in memory that the user cannot change.
  bool kept() const { return kept_ != nullptr; }
  bool came_as_memory() const { return !header_.places.empty(); }
  // share: workers of this machine can have that memory as it is, and it keeps its descriptor.
  Object object(bool share) const;
  const std::shared_ptr<memory::View>& kept_memory() const { return kept_; }
  WritableBytes take_pickle() { return std::move(pickle_); }
  std::vector<WritableBytes> take_buffers() { return std::move(buffers_); }

 private:
  Result<void> take_block(std::shared_ptr<memory::MemoryBlock> block, bool keep);
  bool lie_in(const std::shared_ptr<memory::MemoryBlock>& block, std::vector<std::uint64_t> places);
  void make_room();
  bool make_kept_room();
  void place(WritableBytes memory, std::size_t index);
  void skip_full();

  protocol::Outcome header_;
  WritableBytes pickle_;
  std::vector<WritableBytes> buffers_;
  std::vector<WritableBytes> chunked_;  // of pickle_ and buffers_, in the order of the chunks
  std::shared_ptr<memory::View> kept_;  // of the memory of which the user has a private view
  std::vector<std::uint64_t> places_;   // in that memory
  Position at_;
};

}  // namespace pounce::client
