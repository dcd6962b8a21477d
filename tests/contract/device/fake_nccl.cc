// A NCCL of ours, loaded as NVIDIA's is: its ranks are communicators of one process. Nothing it is asked for is done at
// once; it goes on when it is asked how far it is.
#include "contract/device/fake_nccl.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

using pounce::device::FakeNccl;

namespace {

constexpr int kInvalidArgument = 4, kInvalidUsage = 5, kRemote = 6, kInProgress = 7;

struct UniqueId {
  char bytes[128];
};
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking;
};
struct Step {
  std::map<int, bool> ranks;  // who came, and whether it has what was sent
  const char* from = nullptr;
};
struct Meeting {
  std::map<int, Step> steps;
  bool broken = false;
};
struct Comm {
  std::shared_ptr<Meeting> meeting;
  int rank, ranks, step = 0;
  char* to = nullptr;
  std::size_t size = 0;
};

FakeNccl fake;
std::map<std::string, std::weak_ptr<Meeting>> meetings;
int made_ids = 0;

int come(Comm& comm) {
  const bool first = comm.meeting->steps[++comm.step].ranks.emplace(comm.rank, false).second;
  return first ? kInProgress : kInvalidUsage;
}

int state_of(Comm& comm) {
  if (comm.meeting->broken) return kRemote;
  Step& step = comm.meeting->steps[comm.step];
  if (static_cast<int>(step.ranks.size()) < comm.ranks) return kInProgress;
  if (comm.to != nullptr && step.from != nullptr && comm.to != step.from) std::memcpy(comm.to, step.from, comm.size);
  step.ranks[comm.rank] = true;
  for (const auto& [rank, has_it] : step.ranks)
    if (!has_it) return kInProgress;
  comm.to = nullptr;
  return 0;
}

}  // namespace

extern "C" {

FakeNccl* fake_nccl() { return &fake; }

int ncclGetVersion(int* version) { return *version = fake.version, 0; }

int ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard held(fake.lock);
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::strcpy(id->bytes + 1, ("group " + std::to_string(++made_ids)).c_str());
  return 0;
}

int ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, Config* config) {
  const std::lock_guard held(fake.lock);
  if (config->magic != 0xcafebeef || config->blocking != 0 || rank >= ranks) return kInvalidArgument;
  auto& known = meetings[std::string(id.bytes, sizeof id.bytes)];
  auto meeting = known.lock();
  if (meeting == nullptr) known = meeting = std::make_shared<Meeting>();
  *comm = new Comm{meeting, rank, ranks};
  ++fake.communicators;
  return come(**comm);
}

int ncclCommGetAsyncError(Comm* comm, int* state) {
  const std::lock_guard held(fake.lock);
  *state = fake.fails_with != 0 ? std::exchange(fake.fails_with, 0) : state_of(*comm);
  return 0;
}

int ncclBroadcast(const void* from, void* to, std::size_t count, int, int root, Comm* comm, void*) {
  const std::lock_guard held(fake.lock);
  const int code = come(*comm);
  comm->to = static_cast<char*>(to), comm->size = count;
  if (root == comm->rank) comm->meeting->steps[comm->step].from = static_cast<const char*>(from);
  return code;
}

int ncclCommFinalize(Comm* comm) {
  const std::lock_guard held(fake.lock);
  return come(*comm);
}

int ncclCommDestroy(Comm* comm) {
  const std::lock_guard held(fake.lock);
  --fake.communicators;
  delete comm;
  return 0;
}

int ncclCommAbort(Comm* comm) {
  const std::lock_guard held(fake.lock);
  comm->meeting->broken = true;
  --fake.communicators, ++fake.aborted;
  delete comm;
  return 0;
}

const char* ncclGetErrorString(int code) {
  return code == kRemote ? "remote process exited or there was a network error" : "some error";
}

const char* ncclGetLastError(Comm*) { return ""; }

}  // extern "C"
