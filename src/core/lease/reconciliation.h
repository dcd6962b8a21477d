// When Slurm is asked for every job that carries this instance's tag, and what is in doubt until then. Owns the times of
// these questions, their number (a lease remembers the number at which its doubt began), and how many more are needed
// after a doubt. What the answer shows is Findings' matter. Thread: loop.
#pragma once

#include <cstdint>

#include "core/lease/defaults.h"
#include "core/lease/lease_table.h"
#include "core/lease/reachability.h"
#include "core/lease/step.h"

namespace pounce::lease {

class Reconciliation {
 public:
  Reconciliation(Step& step, const Defaults& times, LeaseTable& leases, const Reachability& slurm)
      : step_(step), times_(times), leases_(leases), slurm_(slurm) {}

  bool journal_read() const { return journal_read_; }
  bool done_once() const { return done_once_; }  // what the core holds can be trusted
  std::uint64_t begun() const { return begun_; }

  bool read_journal();  // false: it was read before. The first question follows at once
  void doubt(std::uint32_t rounds = 2);  // so many more at least, each with nothing left in doubt
  // A lease that is not known, on a worker's or Slurm's word: in doubt until the next answer says what it is.
  Lease& take_on_trust(const LeaseId& id);
  bool answered(bool reached);  // false: nobody had asked
  void settle();                // orders the question when it is due; one at a time

 private:
  bool in_doubt() const;
  TimePoint next() const;

  Step& step_;
  const Defaults& times_;
  LeaseTable& leases_;
  const Reachability& slurm_;
  bool journal_read_ = false, done_once_ = false, under_way_ = false;
  std::uint64_t begun_ = 0;
  std::uint32_t after_doubt_ = 0;
  TimePoint answered_at_{};
  Duration wait_{};  // after one that failed
};

}  // namespace pounce::lease
