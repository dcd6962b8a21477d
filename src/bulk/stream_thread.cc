#include "bulk/stream_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/threads.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::bulk {
namespace {

constexpr std::size_t kAsksAhead = 3;    // keeps the network busy between answers: 12 MiB is 100 Gb/s for a millisecond
constexpr std::size_t kMostToSend = 64;  // a well-behaved peer requests fewer ahead

}  // namespace

std::unique_ptr<StreamThread> StreamThread::start(std::shared_ptr<Exchange> exchange,
                                                  std::unique_ptr<tls::Channel> channel, Begins begins) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return nullptr;
  std::unique_ptr<StreamThread> made(
      new StreamThread(std::move(exchange), std::move(channel), std::move(wake), begins));
  try {
    const BlockedSignals blocked;  // the main thread handles signals
    made->thread_ = std::jthread([it = made.get()] { it->run(); });
  } catch (const std::system_error&) {  // the user's process limit
    return nullptr;
  }
  return made;
}

StreamThread::StreamThread(std::shared_ptr<Exchange> exchange, std::unique_ptr<tls::Channel> channel, UniqueFd wake,
                           Begins begins)
    : exchange_(std::move(exchange)),
      channel_(std::move(channel)),
      wake_(std::move(wake)),
      stood_(begins == Begins::kStanding) {
  channel_->place_with([this](std::string_view header, std::size_t frame, std::size_t size) {
    return destination_of(header, frame, size);
  });
}

StreamThread::~StreamThread() {
  stop_ = true;
  wake();
}

void StreamThread::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void StreamThread::run() {
  try {
    turn_until_over();
  } catch (const std::bad_alloc&) {
    end("there is no memory");
  }
  channel_.reset();    // tells the other end now
  requested_.clear();  // no piece will come: release the memory
}

void StreamThread::turn_until_over() {
  while (!stop_ && !over_) {
    turn();
    sleep();
  }
}

void StreamThread::turn() {
  channel_->flush();
  for (auto message = channel_->receive(); message && !over_ && !stop_; message = channel_->receive())
    take(std::move(*message));
  follow_link();
  answer();
  ask();
  channel_->check(Clock::now());
  note_progress();
}

// Ends the connection when an answer does not come. The channel only detects a stall within a message; a peer may
// vanish between two.
void StreamThread::note_progress() {
  if (std::exchange(came_, channel_->received_bytes()) != came_) came_at_ = Clock::now();
  if (!requested_.empty() && Clock::now() >= came_at_ + stream_options().stall) end("an answer has not come");
}

TimePoint StreamThread::next_deadline() const {
  return std::min(channel_->next_deadline(), requested_.empty() ? TimePoint::max() : came_at_ + stream_options().stall);
}

void StreamThread::sleep() {
  if (over_ || channel_->ready(question_ || !to_send_.empty())) return;
  pollfd polled[] = {{channel_->fd(), static_cast<short>(POLLIN | (channel_->wants_write() ? POLLOUT : 0)), 0},
                     {wake_.get(), POLLIN, 0}};
  const TimePoint deadline = next_deadline();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  ::poll(polled, std::size(polled),
         deadline == TimePoint::max() ? -1 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  std::uint64_t told = 0;
  static_cast<void>(::read(wake_.get(), &told, sizeof told));
}

void StreamThread::follow_link() {
  while (const auto link = channel_->link_event()) {
    if (*link != tls::Link::kConnected) return end(channel_->why());
    stood_ = true;
    exchange_->stands();
  }
}

void StreamThread::end(std::string why) {
  if (!std::exchange(over_, true)) exchange_->lost(std::move(why), stood_);
}

void StreamThread::take(transport::Message message) {
  const auto header = protocol::decode(message.front().text(), protocol::kHeaderBytes);
  const auto* fetch = header ? std::get_if<protocol::Fetch>(&*header) : nullptr;
  const auto* chunk = header ? std::get_if<protocol::Chunk>(&*header) : nullptr;
  if (chunk != nullptr) return take_piece(*chunk, message);
  if (fetch == nullptr || to_send_.size() == kMostToSend) return end("the other end said what does not belong here");
  to_send_.push_back({fetch->of, {fetch->buffer, fetch->offset}, fetch->size, {}});
}

namespace {

bool is(const protocol::Chunk& chunk, const Piece& piece) {
  return chunk.of == piece.of && chunk.buffer == piece.at.buffer && chunk.offset == piece.at.offset;
}

}  // namespace

// Answers come in the order of the requests.
void StreamThread::take_piece(const protocol::Chunk& chunk, const transport::Message& message) {
  if (requested_.empty() || message.size() != 2 || !is(chunk, requested_.front()))
    return end("a piece came that was not asked for");
  const Piece piece = std::move(requested_.front());
  requested_.pop_front();
  if (message[1].size() == 0 && !exchange_->wanted(piece)) return;  // both sides have stopped this transfer
  if (message[1].size() != piece.size) return end("a piece is not there, or of another size");
  if (const auto& write = piece.target().write; write && !std::exchange(in_place_, false))
    if (auto written = write(piece.at.offset, message[1].bytes()); !written)
      return exchange_->failed(piece, std::move(written.error()));
  exchange_->came(piece);
}

tls::Destination StreamThread::destination_of(std::string_view header, std::size_t frame, std::size_t size) {
  const auto decoded =
      frame == 1 ? protocol::decode(header, protocol::kHeaderBytes) : failure(ErrorCode::kProtocol, "no piece");
  const auto* chunk = decoded ? std::get_if<protocol::Chunk>(&*decoded) : nullptr;
  if (chunk == nullptr || requested_.empty() || !is(*chunk, requested_.front()) || requested_.front().size != size)
    return {};
  const Target& target = requested_.front().target();
  const std::uint64_t offset = requested_.front().at.offset;
  if (!target.place.empty())
    return {target.place.subspan(offset, size),
            std::const_pointer_cast<std::vector<Target>>(requested_.front().targets)};
  const auto found = target.place_at ? target.place_at(offset, size) : WritableBytes{};
  in_place_ = found.size() == size;
  if (in_place_) return {found.bytes, std::const_pointer_cast<void>(found.keep)};
  if (!scratch_) scratch_ = std::make_shared<std::vector<std::byte>>(Fetches::kPieceBytes);
  return {std::span(*scratch_).first(size), scratch_};
}

void StreamThread::answer() {
  while (!to_send_.empty() && !over_) {
    const Piece& piece = to_send_.front();
    const auto bytes = exchange_->offered(piece);
    if (piece.size > Fetches::kPieceBytes) return end("the other end asked for too much");
    transport::Message message;
    message.push_back(
        transport::Frame::copy(protocol::encode(protocol::Chunk{piece.of, piece.at.buffer, piece.at.offset})));
    // An empty frame: the piece is not there.
    message.push_back(bytes ? transport::Frame::borrow(bytes->bytes, [keep = bytes->keep] {}) : transport::Frame());
    if (channel_->send(message) != tls::Sent::kYes) return;
    to_send_.pop_front();
  }
}

void StreamThread::ask() {
  while (stood_ && !over_ && (question_ || requested_.size() < kAsksAhead)) {
    if (!question_) {
      auto piece = exchange_->next_piece();
      if (!piece) return;
      question_.emplace();
      question_->push_back(transport::Frame::copy(
          protocol::encode(protocol::Fetch{piece->of, piece->at.buffer, piece->at.offset, piece->size})));
      if (requested_.empty()) came_at_ = Clock::now();
      requested_.push_back(std::move(*piece));
    }
    if (channel_->send(*question_) != tls::Sent::kYes) return;
    question_.reset();
  }
}

}  // namespace pounce::bulk
