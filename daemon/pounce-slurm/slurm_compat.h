// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that differs between Slurm's headers from 22.05 to 26.05 (gotchas S13).
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include <cstdint>

// Exported by libslurm but declared nowhere (§1, Linking).
extern "C" {
char* slurm_job_state_string(std::uint32_t state);
int slurm_bit_test(bitstr_t* bits, std::int64_t bit);
std::int64_t slurm_bit_size(bitstr_t* bits);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
char* slurm_job_state_reason_string(std::uint32_t reason);
#else
char* slurm_job_reason_string(enum job_state_reason reason);
#endif
}

namespace pounce::slurm::compat {

#define POUNCE_SLURM_AT_LEAST(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

// 26.05 takes a step's id by value.
inline int load_job(job_info_msg_t** message, std::uint32_t id, std::uint16_t flags) {
#if POUNCE_SLURM_AT_LEAST(26, 5)
  slurm_step_id_t step = SLURM_STEP_ID_INITIALIZER;
  step.job_id = id;
  return slurm_load_job(message, step, flags);
#else
  return slurm_load_job(message, id, flags);
#endif
}

// 25.11 has the job's id in a step id, in the answer to a submit and in a description.
inline std::uint32_t job_id(const submit_response_msg_t& response) {
#if POUNCE_SLURM_AT_LEAST(25, 11)
  return response.step_id.job_id;
#else
  return response.job_id;
#endif
}

inline std::uint32_t job_id(const slurm_job_info_t& job) {
#if POUNCE_SLURM_AT_LEAST(25, 11)
  return job.step_id.job_id;
#else
  return job.job_id;
#endif
}

inline void set_job_id(job_desc_msg_t& description, std::uint32_t id) {
#if POUNCE_SLURM_AT_LEAST(25, 11)
  description.step_id.job_id = id;
#else
  description.job_id = id;
#endif
}

// 24.05 renamed it and made it a number. (23.02 had made the number one of 32 bits.)
inline const char* reason_text(const slurm_job_info_t& job) {
#if POUNCE_SLURM_AT_LEAST(24, 5)
  return slurm_job_state_reason_string(job.state_reason);
#else
  return slurm_job_reason_string(static_cast<enum job_state_reason>(job.state_reason));
#endif
}

// 23.11 also accepts "gres/gpu"; all releases accept this one (gotchas S13).
inline const char* gres_prefix() { return "gres:gpu:"; }

// The part of a node that is allocated to jobs.
struct Allocated {
  std::uint32_t cpus = 0;
  std::uint64_t memory_mib = 0;
};
// Needs a node loaded with SHOW_DETAIL. 25.05 has plain fields and no function.
inline Allocated allocated_on(const node_info_t& node) {
#if POUNCE_SLURM_AT_LEAST(25, 5)
  return {node.alloc_cpus, node.alloc_memory};
#else
  std::uint16_t cpus = 0;
  std::uint64_t memory = 0;
  slurm_get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &cpus);
  slurm_get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED, &memory);
  return {cpus, memory};
#endif
}

inline std::int64_t bit_size(bitstr_t* bits) { return slurm_bit_size(bits); }
inline bool bit_is_set(bitstr_t* bits, std::int64_t bit) { return slurm_bit_test(bits, bit) != 0; }

// 25.05 made it an enumeration.
inline void set_flags(slurmdb_qos_rec_t& qos, std::uint32_t flags) {
  qos.flags = static_cast<decltype(qos.flags)>(flags);
}

// slurmdbd.conf as it is in use: a list of these, which libslurm declares nowhere. 26.05 reads it in two steps.
struct Setting {
  char *name, *value;
};
inline auto database_settings(void* connection) {
#if POUNCE_SLURM_AT_LEAST(26, 5)
  slurmdbd_conf_t* conf = nullptr;
  return slurmdb_config_get(connection, &conf) == SLURM_SUCCESS ? slurmdb_config_get_keypairs(conf) : nullptr;
#else
  return slurmdb_config_get(connection);
#endif
}

// 26.05 renamed it.
inline void free_conf(slurm_conf_t* conf) {
#if POUNCE_SLURM_AT_LEAST(26, 5)
  slurm_free_conf(conf);
#else
  slurm_free_ctl_conf(conf);
#endif
}

}  // namespace pounce::slurm::compat
