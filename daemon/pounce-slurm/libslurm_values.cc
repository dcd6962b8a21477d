// SPDX-License-Identifier: GPL-3.0-or-later
// libslurm's error numbers as ours.

#include "pounce-slurm/libslurm_values.h"

#include <slurm/slurm_errno.h>

#include <cerrno>

namespace pounce::slurm {
namespace {

struct Row {
  int code;
  ErrorCode ours;
  const char* text;  // nullptr: libslurm's own words
};

// A refusal by the site's job_submit script: slurmctld says only "error", and the script's words come on standard
// error.
constexpr int kSitesRule = SLURM_ERROR;

constexpr Row kRows[] = {
    {ESLURM_INVALID_QOS, ErrorCode::kUnknownClass, nullptr},
    {ESLURM_INVALID_ACCOUNT, ErrorCode::kNoAssociation, "Slurm's accounting has no account for this user"},
    {ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, ErrorCode::kUnsatisfiable,
     "no node of the cluster has what was asked for"},
    {ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, ErrorCode::kUnsatisfiable,
     "no node of the default partition can ever give what was asked for"},
    {ESLURM_INVALID_GRES, ErrorCode::kUnsatisfiable, "the cluster has no GPUs of that kind"},
    {2115 /* ESLURM_INVALID_TRES */, ErrorCode::kUnsatisfiable, "the cluster has no GPUs of that kind"},
    {kSitesRule, ErrorCode::kRejected, "this cluster refuses it"},
    {ESLURM_ACCOUNTING_POLICY, ErrorCode::kRejected, "the request is over a limit of its class"},
};

// 26.05: ESLURM_MAX_JOB_COUNT. Earlier releases use this number for "Unable to create job record, try again", and
// EAGAIN for MaxJobCount.
constexpr int kNoRoomForJobs = 2007;

// True for errors that slurmctld did not send: the system's errno, Slurm's protocol (1xxx) or sockets (5xxx). There
// was no answer, or none in time, or none to be trusted. A read has failed; a submit may or may not have happened.
bool unanswered(int code) { return code != kSitesRule && (code < 2000 || (code >= 5000 && code < 6000)); }

// "26.05"
std::string built_for() {
  const std::string minor = std::to_string(SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
  return std::to_string(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)) + (minor.size() < 2 ? ".0" : ".") + minor;
}

// libslurm's errors for a slurmctld that does not know its protocol (gotchas S29), and for other causes too.
const char* either_of(int code) {
  if (code == SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT)
    return "slurmctld hung up without an answer: it is just ending, or ";
  if (code == SLURM_PROTOCOL_AUTHENTICATION_ERROR)
    return "slurmctld's answer does not prove that it is slurmctld's: MUNGE's key or the clock differs between here "
           "and there, or ";
  return nullptr;
}

}  // namespace

int slurm_code(int rc) { return rc > 0 ? rc : (rc == 0 ? 0 : errno); }

Error slurm_error(int code, Doing doing) {
  Error error;
  error.context["slurm_code"] = std::to_string(code);
  const std::string words = slurm_strerror(code);
  // EAGAIN may also come from a socket, so the caller has to check whether there is a job.
  if ((code == EAGAIN || code == kNoRoomForJobs) && doing == Doing::kSubmitting) {
    error.code = ErrorCode::kOutcomeUnknown;
    error.text = "slurmctld takes no job for now: there are as many as its MaxJobCount allows, or it is too busy";
    return error;
  }
  if (unanswered(code)) {
    error.code = doing == Doing::kReading ? ErrorCode::kSlurmUnreachable : ErrorCode::kOutcomeUnknown;
    error.text = "slurmctld did not answer: " + words;
    if (const char* either = either_of(code)) {
      error.text = either + ("its Slurm does not speak with pounce-slurm's libslurm (" + built_for() + ")");
      error.remedy =
          "If it stays so, run pouncectl rebuild, with this cluster's Slurm first on PATH or named by --slurm-prefix.";
    }
    return error;
  }
  error.code = ErrorCode::kRejected;
  error.text = "Slurm refused: " + words;
  for (const Row& row : kRows) {
    if (row.code != code) continue;
    error.code = row.ours;
    if (row.text != nullptr) error.text = row.text + (code == kSitesRule ? "" : " (" + words + ")");
  }
  return error;
}

}  // namespace pounce::slurm
