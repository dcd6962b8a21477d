// The way of large data between a client and a worker of another machine, beside their data connection: either end offers
// buffers, the other fetches them, over one to four connections (docs/protocol.md §12). What is lost of it is not mended here:
// the owner attaches anew and goes on from reached(). Nothing blocks, but that destroying one waits some milliseconds for its
// threads. Thread: the one that owns the loop or leader token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulk/exchange.h"
#include "bulk/stream_thread.h"
#include "tls/channel.h"
#include "tls/credential.h"

namespace pounce::bulk {

// What is smaller costs less beside the calls: a question and its answer more, for the same bytes.
inline constexpr std::uint64_t kWorthTheLane = 4 * 1024 * 1024;

// So many connections a process has processors for, at most four.
unsigned most_streams();

class Lane {
 public:
  static bool available() { return tls::Channel::available(); }

  Lane() : exchange_(std::make_shared<Exchange>()) {}
  // Of a client: where the worker listens, and one credential for each connection that it takes. None is made before there is
  // something to move, and further ones when there is much.
  Lane(std::string endpoint, std::vector<tls::Credential> credentials);
  void add(std::unique_ptr<tls::Channel> accepted);  // of a worker

  void offer(const std::string& of, std::vector<Offered> buffers);
  void withdraw(const std::string& of) { exchange_->withdraw(of); }
  void fetch(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of) { exchange_->stop(of); }
  std::optional<Position> reached(const std::string& of) const { return exchange_->reached(of); }

  int fd() const { return exchange_->fd(); }  // readable when events() has something
  std::vector<Event> events() { return exchange_->events(); }
  void close() { threads_.clear(); }          // nothing comes any more; reached() still says how far it came
  std::size_t streams() const { return threads_.size(); }

 private:
  void connect_for(std::uint64_t bytes);
  void wake();

  std::shared_ptr<Exchange> exchange_;
  std::string endpoint_;
  std::vector<tls::Credential> credentials_;  // not used yet
  std::vector<std::unique_ptr<StreamThread>> threads_;
};

// A key as it travels, and back (docs/protocol.md §12). nullopt: it is none.
std::string to_bytes(const std::vector<tls::Credential>& credentials);
std::optional<std::vector<tls::Credential>> credentials_of(std::string_view bytes);
// Of a client, for a lane between two of its workers.
std::string new_keys(std::size_t streams);

}  // namespace pounce::bulk
