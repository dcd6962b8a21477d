// One life of a daemon, decided by a script: peers of one user say what they like, jobs come and go, time passes, the
// batch system and the disk fail, the daemon dies and comes back. Real is everything behind authentication: the Service
// with its handlers, lease core, journal and folders (on a real disk), the codec, the Authenticator and the list of
// peers. Not real are the sockets (a frame is handed over with the key that CURVE would have proven), the proof's
// cryptography, the batch system, and time. Thread: the test's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon_fuzzer/actor.h"
#include "daemon_fuzzer/fake_launcher.h"
#include "daemon_fuzzer/full_disk.h"
#include "daemon_fuzzer/moved_clock.h"
#include "daemon_fuzzer/planted_bug.h"
#include "daemon_fuzzer/pool.h"
#include "daemon_fuzzer/script.h"
#include "daemon_fuzzer/witness.h"
#include "pounced/net/handshake.h"
#include "pounced/service.h"
#include "transport/event_loop.h"
#include "unit/pounced/scratch_folder.h"

namespace pounce::daemon_fuzzer {

struct Outcome {
  std::string trouble;  // empty: nothing is wrong
  std::uint32_t steps = 0, leases = 0, granted = 0, refused = 0, detached = 0, restarts = 0;
};

class Life {
 public:
  explicit Life(std::string_view script, PlantedBug planted = PlantedBug::kNone);
  ~Life();

  Outcome live();

 private:
  static constexpr std::size_t kClients = 3;

  struct Sent {
    std::size_t to;  // of actors_
    std::string frame;
  };

  // the daemon
  void daemon_starts();
  void daemon_dies();
  bool transmit(const std::string& route, const std::string& frame);
  void plant_in_answer(std::size_t to, const std::string& frame);
  void run_timers();

  // what peers do
  Actor& any_actor();
  void hello(Actor& actor);
  void say(Actor& actor, const protocol::Header& header);
  void deliver(Actor& actor, const std::string& frame, const protocol::Header* header);
  void check_reply(const Actor& actor, const protocol::Header& header, bool back, const std::string& before);
  bool names_another(const Actor& actor, const protocol::Header& header) const;
  void prepare(const protocol::Header& header);
  void add_workers(const FakeLauncher::Job& job);

  // one step of the script each
  void everybody_begins();
  void progress(Actor& actor);
  void step_progress();
  void step_say();
  void step_noise();
  void step_job();
  void step_time();
  void step_silence();
  void step_trouble();
  void step_connection();
  void step_identity();
  void step_files();

  void pass(std::chrono::milliseconds time, bool beats);
  void settle();

  // after each
  void check();
  void check_sent();
  void check_journal();
  void check_detached();
  void check_interpreters(const protocol::Header& heard);
  std::string picture() const;  // what peers can see of the lease core
  std::string histories() const;
  bool admitted(const Actor& actor) { return service_->peers().admits(actor.key()); }
  void complain(const std::string& what);
  void learn_leases();

  const PlantedBug planted_;
  const daemon::ScratchFolder scratch_;
  MovedClock clock_;
  FullDisk disk_;
  Script script_;
  Outcome outcome_;
  daemon::Setup setup_;
  Pool pool_;
  Witness witness_;
  std::vector<Actor> actors_;
  std::vector<Sent> sent_;
  transport::EventLoop loop_;
  std::unique_ptr<FakeLauncher> launcher_;
  std::unique_ptr<daemon::Service> service_;
  std::unique_ptr<daemon::Authenticator> authenticator_;
  bool disk_failed_ = false;  // something may not be on disk
  bool detached_used_ = false;
  std::uintmax_t journal_size_ = 0;
  std::uint32_t peers_made_ = 0, sessions_made_ = 0;
};

}  // namespace pounce::daemon_fuzzer
