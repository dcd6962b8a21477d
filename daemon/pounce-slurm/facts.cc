// SPDX-License-Identifier: GPL-3.0-or-later
// The Slurm of this machine: starting libslurm, then what the cluster says about itself.

#include "pounce-slurm/facts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/process.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "pounce-slurm/classes.h"
#include "pounce-slurm/libslurm_values.h"
#include "pounce-slurm/nodes.h"
#include "pounce-slurm/slurm_compat.h"
#include "slurm/questions.h"

namespace pounce::slurm {
namespace {

// libslurm waits a minute for a configless source that does not answer.
constexpr unsigned kInitSeconds = 15;

bool readable(const char* path) { return static_cast<bool>(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC))); }

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

Result<void> conf_is_there() {
  if (const char* named = setting("SLURM_CONF")) {
    if (readable(named)) return {};
    return failure(ErrorCode::kSlurmConfig,
                   std::string("SLURM_CONF names ") + named + ", which cannot be read: " + std::strerror(errno),
                   "Correct SLURM_CONF, or unset it.");
  }
  ::unsetenv("SLURM_CONF");  // libslurm would take an empty value for a name
  if (readable("/etc/slurm/slurm.conf") || readable("/run/slurm/conf/slurm.conf") || setting("SLURM_CONF_SERVER"))
    return {};
  return failure(ErrorCode::kNoSlurm,
                 "there is no Slurm on this machine: SLURM_CONF is unset and no slurm.conf is found");
}

// libslurm's fatal() is exit(1), so a child makes the attempt and its exit code tells the result.
Result<void> try_init() {
  const auto child = start_function(Standing::kOurs, SIGKILL, [] {
    ::alarm(kInitSeconds);
    slurm_init(nullptr);
    return 0;
  });
  if (!child) return failure(child.error());
  const int status = wait_for(*child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return failure(ErrorCode::kSlurmUnreachable, "the source of Slurm's configuration did not answer");
  return failure(ErrorCode::kSlurmConfig, "libslurm could not use the cluster's configuration");
}

}  // namespace

Result<void> start_libslurm() {
  if (const auto there = conf_is_there(); !there) return there;
  if (const auto fits = check_libslurm(); !fits) return fits;
  if (const auto survived = try_init(); !survived) return survived;
  slurm_init(nullptr);
  return {};
}

namespace {

constexpr std::chrono::minutes kConfIsKnown{5};  // changes only when an admin edits slurm.conf

struct FreeConf {
  void operator()(slurm_conf_t* conf) const { compat::free_conf(conf); }
};
using Conf = std::unique_ptr<slurm_conf_t, FreeConf>;

// "socket=/run/munge.sock,ttl=60" -> the socket.
std::string munge_socket_of(const std::string& authinfo) {
  constexpr char kKey[] = "socket=";
  const auto at = authinfo.find(kKey);
  if (at == std::string::npos) return {};
  const auto start = at + sizeof kKey - 1;
  return authinfo.substr(start, authinfo.find(',', start) - start);
}

Result<Conf> load_conf() {
  slurm_conf_t* raw = nullptr;
  const int code = slurm_code(slurm_load_ctl_conf(0, &raw));
  if (code != 0) return failure(slurm_error(code, Doing::kReading));
  return Conf(raw);
}

Result<void> read_conf(ClusterFacts& facts) {
  const auto conf = load_conf();
  if (!conf) return failure(conf.error());
  facts.cluster = text((*conf)->cluster_name);
  facts.version = "slurm " + text((*conf)->version);
  facts.auth_type = text((*conf)->authtype);
  facts.munge_socket = munge_socket_of(text((*conf)->authinfo));
  if ((*conf)->control_cnt > 0) facts.controller_address = text((*conf)->control_addr[0]);
  return {};
}

// The classes open to the user; if there are none (no association, no accounting) all, to be named in messages.
Result<void> read_classes(ClusterFacts& facts) {
  const auto classes = load_classes();
  if (!classes) return failure(classes.error());
  facts.default_class = classes->default_class;
  facts.associated = classes->all.empty() || std::ranges::any_of(classes->all, &UserClass::open);
  for (const bool only_open : {true, false}) {
    if (!facts.classes.empty()) break;
    for (const UserClass& one : classes->all)
      if (one.open || !only_open) facts.classes.push_back(one.limits);
  }
  return {};
}

Result<void> read_partition(ClusterFacts& facts) {
  const auto message = load_partitions(0);
  if (!message) return failure(message.error());
  for (const partition_info_t& one : partitions_in(*message))
    if ((one.flags & PART_FLAG_DEFAULT) != 0) facts.default_partition = text(one.name);
  return {};
}

struct FreeFederation {
  void operator()(void* federation) const { slurm_destroy_federation_rec(federation); }
};

// A federation's job may start on any of its clusters, and is another job there. A federation of one cluster is
// harmless.
Result<void> refuse_federation(ClusterFacts& facts) {
  void* raw = nullptr;
  if (slurm_load_federation(&raw) != 0 || raw == nullptr) return {};
  const std::unique_ptr<void, FreeFederation> owner(raw);
  const auto& federation = *static_cast<const slurmdb_federation_rec_t*>(raw);
  std::vector<std::string> others;
  for_each<slurmdb_cluster_rec_t>(federation.cluster_list, [&](const slurmdb_cluster_rec_t& one) {
    if (text(one.name) != facts.cluster) others.push_back(text(one.name));
  });
  if (others.empty()) return {};
  return failure(ErrorCode::kRejected,
                 "cluster " + facts.cluster + " is in the federation " + text(federation.name) + " with " +
                     joined(others) + ": its jobs may start on another cluster, and pounce leases from one alone",
                 "Use a cluster that is in no federation, or one that the admin takes out of it.");
}

std::string number(long version) {
  return std::to_string(SLURM_VERSION_MAJOR(version)) + "." + std::to_string(SLURM_VERSION_MINOR(version)) + "." +
         std::to_string(SLURM_VERSION_MICRO(version));
}

}  // namespace

Result<ClusterFacts> answer(const AskFacts&) {
  ClusterFacts facts;
  for (const auto& read : {read_conf, refuse_federation, read_classes, read_partition})
    if (const auto done = read(facts); !done) return failure(done.error());
  return facts;
}

Result<Site> read_site() {
  const auto conf = load_conf();
  if (!conf) return failure(conf.error());
  Site site;
  site.cluster = text((*conf)->cluster_name);
  site.accounting_type = text((*conf)->accounting_storage_type);
  site.accounting_tres = text((*conf)->accounting_storage_tres);
  site.preempt_type = text((*conf)->preempt_type);
  site.accounting_enforce = (*conf)->accounting_storage_enforce;
  site.slurm_user = (*conf)->slurm_user_id;
  const auto message = load_partitions(0);
  if (!message) return failure(message.error());
  for (const partition_info_t& one : partitions_in(*message)) site.partitions.push_back(text(one.name));
  return site;
}

Result<void> check_user() {
  const auto conf = load_conf();
  if (!conf) return failure(conf.error());
  if ((*conf)->slurm_user_id != ::geteuid()) return {};
  return failure(ErrorCode::kRefusesRoot, "SlurmUser may not lease workers: it has power over every user's jobs");
}

bool jobs_are_private() {
  static bool is_private = true;
  static std::chrono::steady_clock::time_point again;
  const auto now = std::chrono::steady_clock::now();
  if (now < again) return is_private;
  const auto conf = load_conf();
  is_private = !conf || ((*conf)->private_data & PRIVATE_DATA_JOBS) != 0;
  again = now + kConfIsKnown;
  return is_private;
}

std::string loaded_libslurm() {
  Dl_info where{};
  ::dladdr(reinterpret_cast<void*>(&slurm_api_version), &where);
  return text(where.dli_fname) + " (API " + number(slurm_api_version()) + ", built for " +
         number(SLURM_VERSION_NUMBER) + ")";
}

Result<std::string> answer(const AskVersion&) { return loaded_libslurm(); }

Result<void> check_libslurm() {
  const long loaded = SLURM_VERSION_MAJOR(slurm_api_version()), built = POUNCE_SLURM_API_MAJOR;
  if (loaded == built) return {};
  return failure(
      ErrorCode::kVersionMismatch,
      "pounce-slurm was built for libslurm's API " + std::to_string(built) + " and found " + loaded_libslurm(),
      "Run pouncectl rebuild, which needs no root.");
}

}  // namespace pounce::slurm
