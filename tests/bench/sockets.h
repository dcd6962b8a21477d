// What the floors share: a DEALER in this process, a ROUTER in a child, plain libzmq with CURVE between them over TCP
// on loopback. No code of pounce is on the way: a floor must not move when pounce changes.
#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace pounce::bench {

inline void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
  std::exit(1);
}

struct Keys {
  std::array<char, 41> public_key{}, secret_key{};
  Keys() { must(zmq_curve_keypair(public_key.data(), secret_key.data()) == 0, "keys"); }
};

inline void set_curve(void* socket, const Keys& own, const Keys* server) {
  const int on = 1, linger = 0;
  if (server == nullptr)
    zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &on, sizeof on);
  else
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server->public_key.data(), 41);
  zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own.public_key.data(), 41);
  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own.secret_key.data(), 41);
  zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
}

// Forks: the child serves a bound ROUTER until `serve` returns; this process calls `ask` on a connected DEALER.
inline void run_pair(const std::function<void(void* router)>& serve, const std::function<void(void* dealer)>& ask) {
  const Keys server, client;
  int port_pipe[2];
  must(::pipe(port_pipe) == 0, "pipe");
  const pid_t child = ::fork();
  must(child >= 0, "fork");
  void* context = zmq_ctx_new();  // after the fork: a context does not survive one
  if (child == 0) {
    void* router = zmq_socket(context, ZMQ_ROUTER);
    set_curve(router, server, nullptr);
    must(zmq_bind(router, "tcp://127.0.0.1:*") == 0, "bind");
    std::array<char, 64> endpoint{};
    std::size_t size = endpoint.size();
    zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint.data(), &size);
    must(::write(port_pipe[1], endpoint.data(), endpoint.size()) == 64, "write");
    serve(router);
    ::_exit(0);
  }
  std::array<char, 64> endpoint{};
  must(::read(port_pipe[0], endpoint.data(), endpoint.size()) == 64, "read");
  void* dealer = zmq_socket(context, ZMQ_DEALER);
  set_curve(dealer, client, &server);
  must(zmq_connect(dealer, endpoint.data()) == 0, "connect");
  ask(dealer);
  must(::waitpid(child, nullptr, 0) == child, "waitpid");
  zmq_close(dealer);
  zmq_ctx_term(context);
}

}  // namespace pounce::bench
