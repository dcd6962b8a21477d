// 1 GiB to another process over loopback, three ways in turn: a plain TCP stream (the floor), the bulk lane, and ZeroMQ
// with CURVE in 1 MiB frames. It ends in one array that was touched before; one byte back says that all of it is there.
// Rounds are interleaved, so that a busy machine is busy for all. Prints the median GB/s of each and their ratios as
// JSON; and what each end computed for it, in seconds per GiB, which other work on the machine hardly changes.
//   bench_bulk [rounds] [streams] [placed|copied]
// copied: the bulk lane's frames are received into memory of their own and copied from there, as ZeroMQ's have to be.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sockets.h"
#include "tls/channel.h"
#include "tls/listener.h"

namespace {

using pounce::bench::must;
using namespace pounce;

constexpr std::size_t kChunk = 1024 * 1024;
constexpr std::size_t kTotal = std::size_t{1} << 30;

tls::Options options() {
  tls::Options chosen;
  chosen.max_frame_bytes = kChunk;
  return chosen;
}

tls::Credential same(const tls::Credential& other) {
  tls::Credential made{other.id, {}};
  made.key.bytes() = other.key.bytes();
  return made;
}

// ---- plain TCP ----------------------------------------------------------------------------------------------------

void plain_receive(int fd, char* into, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::recv(fd, into + at, std::min(kChunk, size - at), 0);
    must(got > 0, "recv");
    at += static_cast<std::size_t>(got);
  }
}

void plain_send(int fd, const char* from, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t gone = ::send(fd, from + at, std::min(kChunk, size - at), 0);
    must(gone > 0, "send");
    at += static_cast<std::size_t>(gone);
  }
}

// ---- the bulk lane ------------------------------------------------------------------------------------------------

void wait_for(tls::Channel& channel, bool to_send = false) {
  if (channel.ready(to_send)) return;
  pollfd one{channel.fd(), static_cast<short>(POLLIN | (channel.wants_write() ? POLLOUT : 0)), 0};
  ::poll(&one, 1, 1000);
}

// A slice: [offset, end) of the array. The header of each message is the place of its chunk.
void bulk_send(tls::Channel& channel, const char* from, std::size_t offset, std::size_t end) {
  while (true) {
    while (offset < end) {
      transport::Message message;
      message.push_back(transport::Frame::copy(std::to_string(offset)));
      message.push_back(transport::Frame::borrow(std::as_bytes(std::span(from + offset, kChunk)), [] {}));
      if (channel.send(message) != transport::Sent::kYes) break;
      offset += kChunk;
    }
    channel.flush();
    if (channel.receive()) return;  // acknowledged
    wait_for(channel, offset < end);
  }
}

void bulk_receive(tls::Channel& channel, char* into, std::size_t size, bool copies) {
  while (size > 0) {
    while (const auto message = channel.receive()) {
      const auto bytes = message->back().bytes();
      if (copies)
        std::memcpy(into + std::strtoull(message->front().text().data(), nullptr, 10), bytes.data(), bytes.size());
      size -= bytes.size();
    }
    if (size > 0) wait_for(channel);
  }
  transport::Message answer;
  answer.push_back(transport::Frame::copy("all"));
  must(channel.send(answer) == transport::Sent::kYes, "answer");
  while (channel.wants_write()) channel.flush();
}

// ---- both ends ----------------------------------------------------------------------------------------------------

template <class Act>
void side_by_side(int streams, const Act& act) {
  std::vector<std::jthread> threads;
  for (int i = 1; i < streams; ++i) threads.emplace_back([&act, i] { act(i); });
  act(0);
}

// What this process computed since the last call, threads of libzmq included.
double computed() {
  static double before = 0;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const double now =
      used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  return now - std::exchange(before, now);
}

enum Way { kTcp, kBulk, kCurve, kWays };
constexpr const char* kNames[kWays] = {"tcp", "bulk", "curve"};

struct Received {  // shared with the child
  double seconds[kWays][64];
};

struct Setup {
  int rounds = 5, streams = 1;
  bool copies = false;
  Received* received = nullptr;
  std::vector<tls::Credential> credentials;
};

std::vector<int> plain_pair(int listening, int streams, bool server) {
  std::vector<int> made;
  for (int i = 0; i < streams; ++i) {
    if (server) {
      made.push_back(::accept(listening, nullptr, nullptr));
    } else {
      sockaddr_in address{};
      socklen_t size = sizeof address;
      ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
      made.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      must(::connect(made.back(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
    }
    must(made.back() >= 0, "plain connection");
  }
  return made;
}

void serve(void* router, int listening, tls::Listener& listener, const Setup& setup) {
  std::vector<char> into(kTotal, 1);  // touched before: memory for the first time is another question
  const auto plain = plain_pair(listening, setup.streams, true);
  std::vector<std::unique_ptr<tls::Channel>> bulk(setup.streams);
  for (int there = 0; there < setup.streams;) {
    while (auto channel = listener.accept()) {
      if (!setup.copies)
        channel->place_with([&](std::string_view header, std::size_t, std::size_t size) {
          return tls::Destination{
              std::as_writable_bytes(std::span(into.data() + std::strtoull(header.data(), nullptr, 10), size)),
              nullptr};
        });
      for (int i = 0; i < setup.streams; ++i)
        if (setup.credentials[i].id == channel->peer()) bulk[i] = std::move(channel), ++there, i = setup.streams;
    }
    pollfd one{listener.fd(), POLLIN, 0};
    if (there < setup.streams) ::poll(&one, 1, 1000);
  }
  const std::size_t slice = kTotal / setup.streams;
  for (int round = 0; round < setup.rounds + 1; ++round) {
    computed();
    side_by_side(setup.streams, [&](int i) {
      plain_receive(plain[i], into.data() + i * slice, slice);
      plain_send(plain[i], "y", 1);
    });
    setup.received->seconds[kTcp][round] = computed();
    side_by_side(setup.streams, [&](int i) { bulk_receive(*bulk[i], into.data(), slice, setup.copies); });
    setup.received->seconds[kBulk][round] = computed();
    zmq_msg_t route, body;
    zmq_msg_init(&route);
    for (std::size_t offset = 0; offset < kTotal; offset += kChunk) {
      zmq_msg_init(&body);
      must(zmq_msg_recv(&route, router, 0) >= 0 && zmq_msg_recv(&body, router, 0) == static_cast<int>(kChunk),
           "receive");
      std::memcpy(into.data() + offset, zmq_msg_data(&body), kChunk);
      zmq_msg_close(&body);
    }
    setup.received->seconds[kCurve][round] = computed();
    must(std::all_of(into.begin(), into.end(), [](char c) { return c == 2; }), "what came");
    std::fill(into.begin(), into.end(), 1);
    must(zmq_msg_send(&route, router, ZMQ_SNDMORE) >= 0 && zmq_send(router, "", 0, 0) == 0, "acknowledge");
  }
}

struct Sent {
  std::vector<double> rates, seconds;
};

void timed(Sent& into, const std::function<void()>& act) {
  computed();
  const auto start = std::chrono::steady_clock::now();
  act();
  into.rates.push_back(kTotal / 1e9 / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  into.seconds.push_back(computed());
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// The first round warms up.
void print(const Sent (&sent)[kWays], const Setup& setup) {
  double rates[kWays];
  std::printf(R"({"bench":"bulk","bytes":%zu,"rounds":%d,"streams":%d,"copies":%s)", kTotal, setup.rounds,
              setup.streams, setup.copies ? "true" : "false");
  for (int way = 0; way < kWays; ++way) {
    const double* const received = setup.received->seconds[way];
    rates[way] = median({sent[way].rates.begin() + 1, sent[way].rates.end()});
    std::printf(R"(,"%s":{"gb_s":%.2f,"sender_s":%.3f,"receiver_s":%.3f})", kNames[way], rates[way],
                median({sent[way].seconds.begin() + 1, sent[way].seconds.end()}),
                median({received + 1, received + 1 + setup.rounds}));
  }
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  std::printf(R"(,"bulk_of_tcp":%.2f,"bulk_of_curve":%.2f,"load":%.1f})"
              "\n",
              rates[kBulk] / rates[kTcp], rates[kBulk] / rates[kCurve], load);
}

void ask(void* dealer, int listening, const std::string& endpoint, const Setup& setup) {
  const std::vector<char> from(kTotal, 2);
  const auto plain = plain_pair(listening, setup.streams, false);
  std::vector<std::unique_ptr<tls::Channel>> bulk;
  for (int i = 0; i < setup.streams; ++i) {
    bulk.push_back(std::move(*tls::Channel::connect(endpoint, setup.credentials[i], options())));
    while (bulk.back()->link_event() != transport::Link::kConnected) wait_for(*bulk.back());
  }
  const std::size_t slice = kTotal / setup.streams;
  Sent sent[kWays];
  for (int round = 0; round < setup.rounds + 1; ++round) {
    timed(sent[kTcp], [&] {
      side_by_side(setup.streams, [&](int i) {
        char end;
        plain_send(plain[i], from.data() + i * slice, slice);
        plain_receive(plain[i], &end, 1);
      });
    });
    timed(sent[kBulk], [&] {
      side_by_side(setup.streams, [&](int i) { bulk_send(*bulk[i], from.data(), i * slice, (i + 1) * slice); });
    });
    timed(sent[kCurve], [&] {
      for (std::size_t offset = 0; offset < kTotal; offset += kChunk) {
        zmq_msg_t body;
        zmq_msg_init_data(&body, const_cast<char*>(from.data()) + offset, kChunk, [](void*, void*) {}, nullptr);
        must(zmq_msg_send(&body, dealer, 0) >= 0, "send");
      }
      char end;
      must(zmq_recv(dealer, &end, 1, 0) == 0, "acknowledged");
    });
  }
  print(sent, setup);
}

}  // namespace

int main(int argc, char** argv) {
  Setup setup;
  if (argc > 1) setup.rounds = std::clamp(std::atoi(argv[1]), 1, 63);
  if (argc > 2) setup.streams = std::atoi(argv[2]);
  setup.copies = argc > 3 && std::string(argv[3]) == "copied";
  setup.received = static_cast<Received*>(
      ::mmap(nullptr, sizeof(Received), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  must(setup.received != MAP_FAILED, "mmap");
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  must(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(listening, 8) == 0,
       "listen");
  auto listener = tls::Listener::bind("tcp://127.0.0.1:*", options());
  must(listener.has_value(), "bind");
  for (int i = 0; i < setup.streams; ++i) {
    setup.credentials.push_back(tls::make_credential());
    (*listener)->announce(same(setup.credentials.back()));
  }
  const std::string endpoint = (*listener)->endpoint();
  bench::run_pair([&](void* router) { serve(router, listening, **listener, setup); },
                  [&](void* dealer) { ask(dealer, listening, endpoint, setup); });
}
