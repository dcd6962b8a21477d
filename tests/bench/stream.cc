// The floor of a scatter: 1 GiB in 1 MB frames, DEALER to ROUTER with CURVE, between two processes; sent from the array
// without a copy, copied by the receiver into one array (what a useful scatter must do too), then acknowledged.
// Prints GB/s of each repetition's whole time as JSON: the best and the median.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "sockets.h"

namespace {

constexpr std::size_t kChunk = 1024 * 1024;
constexpr std::size_t kTotal = std::size_t{1} << 30;

void receive_all(void* router, std::vector<char>& into) {
  zmq_msg_t route;
  zmq_msg_init(&route);
  for (std::size_t offset = 0; offset < kTotal; offset += kChunk) {
    zmq_msg_t body;
    zmq_msg_init(&body);
    pounce::bench::must(
        zmq_msg_recv(&route, router, 0) >= 0 && zmq_msg_recv(&body, router, 0) == static_cast<int>(kChunk), "receive");
    std::memcpy(into.data() + offset, zmq_msg_data(&body), kChunk);
    zmq_msg_close(&body);
  }
  pounce::bench::must(zmq_msg_send(&route, router, ZMQ_SNDMORE) >= 0 && zmq_send(router, "", 0, 0) == 0, "acknowledge");
}

void send_all(void* dealer, std::vector<char>& from) {
  for (std::size_t offset = 0; offset < kTotal; offset += kChunk) {
    zmq_msg_t body;
    zmq_msg_init_data(&body, from.data() + offset, kChunk, [](void*, void*) {}, nullptr);
    pounce::bench::must(zmq_msg_send(&body, dealer, 0) >= 0, "send");
  }
  char end;
  pounce::bench::must(zmq_recv(dealer, &end, 1, 0) == 0, "acknowledged");
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<double> rates;
  pounce::bench::run_pair(
      [&](void* router) {
        std::vector<char> into(kTotal, 1);  // touched before: memory for the first time is another question
        for (int i = 0; i < repetitions; ++i) receive_all(router, into);
        char end;
        zmq_recv(router, &end, 1, 0);
      },
      [&](void* dealer) {
        std::vector<char> from(kTotal, 2);
        for (int i = 0; i < repetitions; ++i) {
          const auto start = std::chrono::steady_clock::now();
          send_all(dealer, from);
          rates.push_back(kTotal / 1e9 /
                          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        zmq_send(dealer, "", 0, 0);
      });
  std::sort(rates.begin(), rates.end());
  std::printf(R"({"bench":"stream","bytes":%zu,"chunk":%zu,"repetitions":%d,"best_gb_s":%.3f,"median_gb_s":%.3f})"
              "\n",
              kTotal, kChunk, repetitions, rates.back(), rates[rates.size() / 2]);
}
