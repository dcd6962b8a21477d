// A listener, a client's channel and what the listener accepted, turned by one loop as their owners would.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "tls/channel.h"
#include "tls/listener.h"

namespace pounce::tls {

inline constexpr std::size_t kMiB = 1024 * 1024;

inline Options small_options() {
  Options options;
  options.max_frame_bytes = 64 * kMiB;
  return options;
}

inline Credential same(const Credential& other) {
  Credential made{other.id, {}};
  made.key.bytes() = other.key.bytes();
  return made;
}

// Each byte depends on its place and on the seed: nothing that is shifted, repeated or mixed up looks right.
inline std::string pattern(std::size_t size, std::uint32_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761u + seed) >> 11);
  return text;
}

inline Message message_of(const std::vector<std::string>& frames) {
  Message message;
  for (const std::string& frame : frames) message.push_back(Frame::copy(frame));
  return message;
}

inline std::vector<std::string> texts_of(const Message& message) {
  std::vector<std::string> texts;
  for (const Frame& frame : message) texts.emplace_back(frame.text());
  return texts;
}

struct TwoEnds : testing::Test {
  Options options = small_options();
  Credential credential = make_credential();
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Channel> client, server;
  std::vector<Link> client_news, server_news;
  std::vector<std::vector<std::string>> client_got, server_got;

  std::function<void(Message)> server_takes = [this](const Message& message) {
    server_got.push_back(texts_of(message));
  };

  void listen(std::size_t most_newcomers = 16) {
    auto bound = Listener::bind("tcp://127.0.0.1:*", options, most_newcomers);
    ASSERT_TRUE(bound) << bound.error().text;
    listener = std::move(*bound);
    listener->announce(same(credential));
  }

  std::unique_ptr<Channel> connect(const Credential& with) {
    auto made = Channel::connect(listener->endpoint(), with, options);
    EXPECT_TRUE(made);
    return made ? std::move(*made) : nullptr;
  }

  void open() {
    listen();
    client = connect(credential);
    ASSERT_TRUE(turn_until([&] { return server && !client_news.empty(); }));
    ASSERT_EQ(client_news, std::vector{Link::kConnected});
  }

  static void turn(Channel& channel, std::vector<Link>& news, const std::function<void(Message)>& take) {
    channel.flush();
    while (auto message = channel.receive()) take(std::move(*message));
    while (const auto one = channel.link_event()) news.push_back(*one);
    channel.check(Clock::now());
  }

  void turn() {
    if (listener)
      while (auto next = listener->accept()) server = std::move(next);
    if (client) turn(*client, client_news, [&](const Message& message) { client_got.push_back(texts_of(message)); });
    if (server) turn(*server, server_news, server_takes);
  }

  // As in an owner's loop: asleep while nothing is there.
  void sleep() const {
    std::vector<pollfd> all;
    TimePoint until = Clock::now() + std::chrono::milliseconds(20);
    if (listener) {
      all.push_back({listener->fd(), POLLIN, 0});
      until = std::min(until, listener->next_deadline());
    }
    for (const Channel* one : {client.get(), server.get()}) {
      if (one == nullptr) continue;
      if (one->ready(to_send)) return;
      all.push_back({one->fd(), static_cast<short>(POLLIN | (one->wants_write() ? POLLOUT : 0)), 0});
      until = std::min(until, one->next_deadline());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    ::poll(all.data(), all.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }

  // Turns until `done`, asked once a turn, or two minutes.
  template <class Done>
  bool turn_until(const Done& done) {
    to_send = false;
    return turns(done);
  }
  // The same where `done` sends something each time.
  template <class Done>
  bool send_until(const Done& done) {
    to_send = true;
    return turns(done);
  }

  bool to_send = false;
  template <class Done>
  bool turns(const Done& done) {
    const TimePoint deadline = Clock::now() + std::chrono::minutes(2);
    while (Clock::now() < deadline) {
      turn();
      if (done()) return true;
      sleep();
    }
    return false;
  }
};

}  // namespace pounce::tls
