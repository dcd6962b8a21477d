// The floor of a no-op call: one 64-byte message there and back, DEALER to ROUTER with CURVE, between two processes
// that block in zmq_recv. Prints microseconds as JSON; run it in the same minute as what is compared with it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "sockets.h"

namespace {

constexpr int kWarmUp = 500, kBytes = 64;

void echo(void* router, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    zmq_msg_t route, body;
    zmq_msg_init(&route);
    zmq_msg_init(&body);
    pounce::bench::must(zmq_msg_recv(&route, router, 0) >= 0 && zmq_msg_recv(&body, router, 0) == kBytes, "serve");
    pounce::bench::must(zmq_msg_send(&route, router, ZMQ_SNDMORE) >= 0 && zmq_msg_send(&body, router, 0) >= 0,
                        "answer");
  }
  char end;
  zmq_recv(router, &end, 1, 0);  // a closed ROUTER would drop the last answer on its way
}

double one_round(void* dealer) {
  char bytes[kBytes] = {};
  const auto start = std::chrono::steady_clock::now();
  pounce::bench::must(zmq_send(dealer, bytes, kBytes, 0) == kBytes && zmq_recv(dealer, bytes, kBytes, 0) == kBytes,
                      "ask");
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  std::vector<double> took;
  pounce::bench::run_pair([&](void* router) { echo(router, kWarmUp + rounds); },
                          [&](void* dealer) {
                            for (int i = 0; i < kWarmUp; ++i) one_round(dealer);
                            for (int i = 0; i < rounds; ++i) took.push_back(one_round(dealer));
                            zmq_send(dealer, "", 0, 0);
                          });
  std::sort(took.begin(), took.end());
  const auto at = [&](double part) {
    return took[static_cast<std::size_t>(part * static_cast<double>(took.size() - 1))];
  };
  std::printf(R"({"bench":"roundtrip","bytes":%d,"rounds":%d,"p10_us":%.1f,"p50_us":%.1f,"p99_us":%.1f})"
              "\n",
              kBytes, rounds, at(0.10), at(0.50), at(0.99));
}
