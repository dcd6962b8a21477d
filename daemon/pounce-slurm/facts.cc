// SPDX-License-Identifier: GPL-3.0-or-later
#include "facts.h"

#include <dlfcn.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "slurm_compat.h"
#include "slurm_error.h"

namespace pounce::slurm {
namespace {

struct FreeConf {
  void operator()(slurm_conf_t* conf) const { compat::free_conf(conf); }
};
struct FreeAssociations {
  void operator()(assoc_mgr_info_msg_t* message) const { slurm_free_assoc_mgr_info_msg(message); }
};
struct FreePartitions {
  void operator()(partition_info_msg_t* message) const { slurm_free_partition_info_msg(message); }
};

std::string text(const char* maybe) { return maybe != nullptr ? maybe : ""; }

std::uint32_t limit(std::uint32_t value) { return value == NO_VAL || value == INFINITE ? 0 : value; }

// "socket=/run/munge.sock,ttl=60" -> the socket.
std::string munge_socket_of(const std::string& authinfo) {
  constexpr char kKey[] = "socket=";
  const auto at = authinfo.find(kKey);
  if (at == std::string::npos) return {};
  const auto start = at + sizeof kKey - 1;
  return authinfo.substr(start, authinfo.find(',', start) - start);
}

Result<void> read_conf(ClusterFacts& facts) {
  slurm_conf_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_ctl_conf(0, &raw)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const std::unique_ptr<slurm_conf_t, FreeConf> conf(raw);
  if (conf->slurm_user_id == ::geteuid())
    return failure(ErrorCode::kRefusesRoot, "SlurmUser may not lease workers: it has power over every user's jobs");
  facts.cluster = text(conf->cluster_name);
  facts.version = "slurm " + text(conf->version);
  facts.auth_type = text(conf->authtype);
  facts.munge_socket = munge_socket_of(text(conf->authinfo));
  if (conf->control_cnt > 0) facts.controller_address = text(conf->control_addr[0]);
  return {};
}

// Limits come from slurmctld's own cache: no slurmdbd is asked (libslurm.md §0.9).
Result<void> read_classes(ClusterFacts& facts) {
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_QOS;
  assoc_mgr_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_assoc_mgr_info(&request, &raw)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const std::unique_ptr<assoc_mgr_info_msg_t, FreeAssociations> message(raw);
  if (message->qos_list == nullptr) return {};
  auto* iterator = slurm_list_iterator_create(message->qos_list);
  while (const auto* qos = static_cast<const slurmdb_qos_rec_t*>(slurm_list_next(iterator)))
    facts.classes.push_back({text(qos->name), std::chrono::minutes(limit(qos->max_wall_pj)), limit(qos->max_jobs_pu),
                             limit(qos->max_submit_jobs_pu)});
  slurm_list_iterator_destroy(iterator);
  std::ranges::sort(facts.classes, {}, &ClassLimits::name);
  return {};
}

Result<void> read_partition(ClusterFacts& facts) {
  partition_info_msg_t* raw = nullptr;
  if (const int code = slurm_code(slurm_load_partitions(0, &raw, 0)); code != 0)
    return failure(slurm_error(code, Doing::kReading));
  const std::unique_ptr<partition_info_msg_t, FreePartitions> message(raw);
  for (std::uint32_t i = 0; i < message->record_count; ++i)
    if ((message->partition_array[i].flags & PART_FLAG_DEFAULT) != 0)
      facts.default_partition = text(message->partition_array[i].name);
  return {};
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

std::string class_list() {
  ClusterFacts facts;
  std::string list;
  if (!read_classes(facts)) return list;
  for (const ClassLimits& one : facts.classes) list += (list.empty() ? "" : ", ") + one.name;
  return list;
}

std::string asked_for(const Resources& asked) {
  std::string words = std::to_string(asked.gpus) + " GPU(s)";
  if (!asked.gpu_type.empty()) words += " of type " + asked.gpu_type;
  if (asked.cpus > 0) words += ", " + std::to_string(asked.cpus) + " CPUs";
  if (asked.memory_mib > 0) words += ", " + std::to_string(asked.memory_mib) + " MiB";
  return words;
}

}  // namespace

Result<ClusterFacts> read_facts() {
  ClusterFacts facts;
  for (const auto& read : {read_conf, read_classes, read_partition})
    if (const auto done = read(facts); !done) return failure(done.error());
  return facts;
}

std::string loaded_libslurm() {
  Dl_info where{};
  ::dladdr(reinterpret_cast<void*>(&slurm_api_version), &where);
  const long version = slurm_api_version();
  return text(where.dli_fname) + " (API " + std::to_string(SLURM_VERSION_MAJOR(version)) + "." +
         std::to_string(SLURM_VERSION_MINOR(version)) + "." + std::to_string(SLURM_VERSION_MICRO(version)) + ")";
}

Result<void> check_libslurm() {
  const long loaded = SLURM_VERSION_MAJOR(slurm_api_version()), built = POUNCE_SLURM_API_MAJOR;
  if (loaded == built) return {};
  return failure(ErrorCode::kVersionMismatch,
                 "pounce-slurm was built for libslurm's API " + std::to_string(built) + " and found " + loaded_libslurm(),
                 "Install the pounce that was built for this Slurm.");
}

Error explained(Error error, const Resources& asked) {
  if (error.code == ErrorCode::kUnknownClass)
    error.text = "there is no class '" + asked.class_name + "' for this user; the cluster's classes are " + class_list();
  if (error.code == ErrorCode::kNoAssociation) error.text = "user " + user_name() + ": " + error.text;
  if (error.code == ErrorCode::kUnsatisfiable) error.text += "; asked for: " + asked_for(asked);
  return error;
}

}  // namespace pounce::slurm
