// The path of large data between a client and a worker of another machine, beside their data connection: either end
// offers buffers, the other fetches them, over one to four connections (docs/protocol.md §12). The lane does not
// repair a loss: the owner attaches anew and continues from reached(). Nothing blocks, but destroying a lane waits
// some milliseconds for its threads. Thread: the one that owns the loop or leader token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulk/exchange.h"
#include "bulk/stream_thread.h"
#include "tls/channel.h"
#include "tls/stream.h"

namespace pounce::bulk {

// The number of connections that this process has processors for, at most four.
unsigned most_streams();

class Lane {
 public:
  static bool available() { return tls::Channel::available(); }

  Lane() : exchange_(std::make_shared<Exchange>()) {}
  // For a client: where the worker listens, and one credential for each connection that it accepts. The lane opens
  // the first connection when there is something to move, and further ones for large data.
  Lane(std::string endpoint, std::vector<tls::Credential> credentials);
  void add(std::unique_ptr<tls::Channel> accepted);  // for a worker

  void offer(const std::string& of, std::vector<Bytes> buffers);
  void withdraw(const std::string& of) { exchange_->withdraw(of); }
  void fetch(const std::string& of, std::vector<Target> targets, Position from);
  void stop(const std::string& of) { exchange_->stop(of); }
  std::optional<Position> reached(const std::string& of) const { return exchange_->reached(of); }

  int fd() const { return exchange_->fd(); }  // readable when events() has something
  std::vector<Event> events() { return exchange_->events(); }
  void close() { threads_.clear(); }  // ends the transfers; reached() still tells how far they came
  std::size_t streams() const { return threads_.size(); }

 private:
  void connect_for(std::uint64_t bytes);
  void wake();

  std::shared_ptr<Exchange> exchange_;
  std::string endpoint_;
  std::vector<tls::Credential> credentials_;  // not used yet
  std::vector<std::unique_ptr<StreamThread>> threads_;
};

// Keys in their wire format (docs/protocol.md §12). nullopt: malformed.
std::string to_bytes(const std::vector<tls::Credential>& credentials);
std::optional<std::vector<tls::Credential>> credentials_of(std::string_view bytes);
// For a client: keys for a lane between two of its workers.
std::string new_keys(std::size_t streams);

}  // namespace pounce::bulk
