// What the other end may fetch: named buffers, unchanged until they are withdrawn and no frame holds them.
// Thread: its owner locks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bulk/position.h"

namespace pounce::bulk {

struct Offered {  // any thread may release it last: the destructor of `keep` must not block
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

class Offers {
 public:
  void add(const std::string& of, std::vector<Offered> buffers) { offers_[of] = std::move(buffers); }
  void withdraw(const std::string& of) { offers_.erase(of); }
  bool contains(const std::string& of) const { return offers_.contains(of); }

  // nullopt: there is no such piece.
  std::optional<Offered> piece(const std::string& of, Position at, std::uint64_t size) const {
    const auto offer = offers_.find(of);
    if (offer == offers_.end() || at.buffer >= offer->second.size()) return std::nullopt;
    const Offered& whole = offer->second[at.buffer];
    if (at.offset > whole.bytes.size() || size > whole.bytes.size() - at.offset) return std::nullopt;
    return Offered{whole.bytes.subspan(at.offset, size), whole.keep};
  }

 private:
  std::map<std::string, std::vector<Offered>> offers_;
};

}  // namespace pounce::bulk
