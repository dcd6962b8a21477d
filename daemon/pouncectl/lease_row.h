// One lease as a user reads it, from the daemon's status document; which leases a user means; what became of a lease.
// Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/status_document.h"
#include "pounce/error.h"
#include "protocol/messages.h"

namespace pounce::ctl {

// The document's row with its notebook.
struct LeaseRow : model::LeaseRow {
  std::string directory, host;  // empty: no notebook claims the lease
  std::uint32_t pid = 0;
};

// In the document's order; empty if the text is not a status document.
std::vector<LeaseRow> lease_rows(const std::string& status_document);
std::vector<LeaseRow> lease_rows(const model::StatusDocument& status);

// The rows whose ids have one of these prefixes. kBadRequest lists the existing ids.
Result<std::vector<LeaseRow>> named(const std::vector<LeaseRow>& rows, const std::vector<std::string>& beginnings);
Result<std::vector<LeaseRow>> of_session(const std::vector<LeaseRow>& rows, const std::string& beginning);

std::string short_id(std::string_view id);                    // a unique prefix, accepted by all commands
std::string counted(std::uint64_t count, const char* one);    // "1 GPU", "4 CPUs"
std::string asks(const Resources& resources);                 // "1 GPU a100, 4 CPUs"
std::string in_words(double seconds);                         // "40 s", "5 min", "2 h 5 min", "3 d 4 h"
std::string tasks_of(const LeaseRow& row);                    // "2 wait, 1 runs"
std::string notebook_of(const LeaseRow& row);                 // "/home/alice/fit (pid 12)"
std::string starts(const LeaseRow& row, std::int64_t now_s);  // "in about 10 min"; empty: unknown
std::string when(const Eta& eta, std::int64_t now_s);         // "in about 10 min (5 min to 1 h)"
std::string reported_of(const LeaseRow& row);                 // "epoch 3; loss=0.3 step=7"; empty: nothing
std::string why(const LeaseRow& row);                         // the reason of its state, and what comes next

// The leases of one pool as one row: how many of its workers run, on how many nodes, and why the others do not.
struct PoolRow {
  Resources resources;
  std::vector<LeaseRow> leases;
};

bool is_pool(const LeaseRow& row);
// Every pool of every notebook, in the order of their first leases.
std::vector<PoolRow> pool_rows(const std::vector<LeaseRow>& rows);
// "7 of 16 workers, 3 nodes, 5 wait: the class runs 7 of your jobs".
std::string line_of(const PoolRow& pool);

// What became of one lease that was released, in a user's words.
std::string release_words(const LeaseRow& before, const protocol::ReleaseRow& after, protocol::ReleaseHow how);

// This user's jobs as Slurm shows them, as a table.
std::string queue_table(const protocol::QueueIs& queue);

}  // namespace pounce::ctl
