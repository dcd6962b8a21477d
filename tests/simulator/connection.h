// One connection between two processes, as ZeroMQ over TCP is: what is sent arrives whole and in order, until the
// connection is cut. What is under way then is lost, and each end notices at its own time. Now and then the server
// reads what the old connection had brought only after its client has come back on a new one. It may also stand and
// bring nothing for a while.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "simulator/timeline.h"

namespace pounce::simulator {

class World;
enum class End : std::uint8_t { kServer, kClient };

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Notices {
    std::function<void()> lost;
    std::function<void()> silent, seen;  // nothing comes on it, or something after all
  };

  explicit Connection(World& world) : world_(world) {}

  void notices(End end, Notices notices) { notices_[index(end)] = std::move(notices); }
  enum class Repeat : std::uint8_t { kNever, kMaybe };
  void send(End to, std::function<void()> arrive, Repeat repeat = Repeat::kMaybe, Millis longest = Millis(20));
  void cut(Millis noticed_within);
  void stall(Millis length);
  void hold(End end, TimePoint until);  // that process is stopped: it reads nothing
  bool up() const { return up_; }
  TimePoint undisturbed_since() const { return undisturbed_since_; }

 private:
  static constexpr std::size_t index(End end) { return static_cast<std::size_t>(end); }
  void deliver(End to, const std::function<void()>& arrive);
  void notice(End end, Millis within);

  World& world_;
  bool up_ = true, lingers_ = false;
  std::array<TimePoint, 2> last_{}, held_until_{};
  std::array<Notices, 2> notices_;
  TimePoint undisturbed_since_{};
};

using Wire = std::shared_ptr<Connection>;

}  // namespace pounce::simulator
