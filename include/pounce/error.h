// An error, the one list of their codes, and Result: a value or an error. Each code has a cause and a remedy in
// docs/errors.md and maps to exactly one Python exception class (python/pounce/errors.py); a test walks the list.
// Thread: any (values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "pounce/cause.h"
#include "pounce/fields.h"

namespace pounce {

// X(enumerator, wire name, Python class, default remedy)
#define POUNCE_ERROR_CODES(X)                                                                                   \
  X(kBadRequest, "bad_request", "BadRequest", "Correct the call as the message says.")                          \
  X(kUnknownClass, "unknown_class", "UnknownClass", "Name one of the classes listed in the message.")           \
  X(kNoAssociation, "no_association", "NoAssociation", "Ask the admin for an account: sacctmgr add user.")      \
  X(kUnsatisfiable, "unsatisfiable", "Unsatisfiable", "Ask for fewer GPUs, another GPU type, or less memory.")  \
  X(kRejected, "rejected", "Rejected", "Change the request as Slurm's message says.")                           \
  X(kNoSlurm, "no_slurm", "NoSlurm", "Set SLURM_CONF, or use pounce.Client(launcher='local').")                 \
  X(kSlurmConfig, "slurm_config", "SlurmConfigBroken", "Show the message to the cluster's admin.")              \
  X(kSlurmUnreachable, "slurm_unreachable", "SlurmUnreachable", "Wait for slurmctld; running work goes on.")    \
  X(kOutcomeUnknown, "outcome_unknown", "OutcomeUnknown", "Wait: pounce looks for the job before it acts.")     \
  X(kRefusesRoot, "refuses_root", "RefusesRoot", "Run as an ordinary user, or use launcher='local'.")           \
  X(kDaemonUnavailable, "daemon_unavailable", "DaemonUnavailable", "Read pounced's log, named in the message.") \
  X(kNotAuthenticated, "not_authenticated", "NotAuthenticated", "Run client, daemon and worker as one user.")   \
  X(kVersionMismatch, "version_mismatch", "VersionMismatch", "Install one pounce version on both sides.")       \
  X(kProtocol, "protocol", "ProtocolError", "Report this: two parts of pounce disagree.")                       \
  X(kTaskRaised, "task_raised", "TaskRaised", "Read the traceback: the function itself failed.")                \
  X(kNotPicklable, "not_picklable", "NotPicklable", "Create that object inside the function instead.")          \
  X(kResultNotPicklable, "result_not_picklable", "ResultNotPicklable", "Return plain data or arrays instead.")  \
  X(kOutOfMemory, "out_of_memory", "OutOfMemory", "Ask for more memory: options(memory=...).")                  \
  X(kWorkerCrashed, "worker_crashed", "WorkerCrashed", "Read the last lines; fix the function, submit again.")  \
  X(kJobCancelled, "job_cancelled", "JobCancelled", "Submit again; somebody ended the Slurm job.")              \
  X(kWalltimeReached, "walltime_reached", "WalltimeReached", "Checkpoint, or use a class with more time.")      \
  X(kPreempted, "preempted", "Preempted", "Submit again, or use a class that is not preempted.")                \
  X(kNodeFailed, "node_failed", "NodeFailed", "Submit again; Slurm lost the node.")                             \
  X(kLeaseEnded, "lease_ended", "LeaseEnded", "Submit again; the lease ended as the message says.")             \
  X(kLost, "lost", "LostError", "Submit again if running twice does no harm, or use retries=n.")                \
  X(kNameTaken, "name_taken", "NameTaken", "Use client.attach(name), its forget(), or another name.")           \
  X(kNoSuchName, "no_such_name", "NoSuchName", "Use one of the names listed in the message.")                   \
  X(kNotShared, "not_shared", "NotShared", "Set state_folder to one that this host and the nodes share.")       \
  X(kResultGone, "result_gone", "ResultGone", "Submit again: the result is not there any more.")                \
  X(kFileChanged, "file_changed", "FileChanged", "Submit again with the file as it is now.")                    \
  X(kFileNotHere, "file_not_here", "FileNotHere", "Put the file where both sides see it, or pass its content.") \
  X(kDataChanged, "data_changed", "DataChanged", "Pass a copy, or change it when the call has ended.")          \
  X(kDeviceUnavailable, "device_unavailable", "DeviceUnavailable", "Ask for a GPU: gpus=1.")                    \
  X(kDeviceFailed, "device_failed", "DeviceFailed", "Submit again: another worker has another GPU.")            \
  X(kCancelled, "cancelled", "Cancelled", "Nothing to do: it was cancelled.")                                   \
  X(kTimeout, "timeout", "Timeout", "Wait longer: timeout=...")                                                 \
  X(kClosed, "closed", "ClientClosed", "Make a new pounce.Client().")                                           \
  X(kForked, "forked", "Forked", "Make a new pounce.Client() in the child process.")                            \
  X(kTooLarge, "too_large", "TooLarge", "Send less in one message, or scatter it.")                             \
  X(kInternal, "internal", "InternalError", "Report this with pounced's log.")

enum class ErrorCode {
#define POUNCE_ENUMERATOR(enumerator, wire, python, remedy) enumerator,
  POUNCE_ERROR_CODES(POUNCE_ENUMERATOR)
#undef POUNCE_ENUMERATOR
};

constexpr auto words(ErrorCode) {
#define POUNCE_WORD(enumerator, wire, python, remedy) wire,
  return words_of<ErrorCode>({POUNCE_ERROR_CODES(POUNCE_WORD)}, ErrorCode::kInternal);
#undef POUNCE_WORD
}

constexpr std::string_view wire_name(ErrorCode code) { return words(code).of(code); }
// Returns kInternal for an unknown name of a newer peer.
constexpr ErrorCode error_code_from_wire(std::string_view wire) { return *words(ErrorCode{}).from(wire); }

constexpr std::string_view default_remedy(ErrorCode code) {
#define POUNCE_REMEDY(enumerator, wire, python, remedy) remedy,
  constexpr std::string_view kRemedies[] = {POUNCE_ERROR_CODES(POUNCE_REMEDY)};
#undef POUNCE_REMEDY
  return kRemedies[static_cast<std::size_t>(code)];
}

// An error as data. A core sets `cause`; the program that shows the error makes `text` of it (src/messages). Errors
// made at an edge, or reported from outside (Slurm, the system), have `text` from the beginning. `remedy` is one
// sentence (empty: the code's own). `context` carries evidence for people, as strings: lease, job, node, signal,
// exit_code, last_lines, stderr ... A program decides by the code, the cause and the fields behind it only.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string text;
  std::string remedy;
  std::map<std::string, std::string> context;
  Cause cause{};
  std::optional<std::int32_t> signal{}, exit_code{};  // how the worker's Python, or the job, ended
  std::string path{};                                 // of kFileNotHere: the file that its reader does not see
  std::string object{};                               // of kOutOfMemory: the id of the data that the worker refused
  bool fits_apart = false;  // of kUnsatisfiable: its workers fit on no node together, but would fit one by one

  bool empty() const { return text.empty() && !cause; }  // for fields: there is no error
  std::string_view advice() const { return remedy.empty() ? default_remedy(code) : std::string_view(remedy); }
  bool operator==(const Error&) const = default;

  static constexpr auto fields() {
    return table(field("code", &Error::code, "a code of `errors.md`"),
                 field("text", &Error::text, "one sentence of cause; of a `cause` put by who shows it"),
                 field("remedy", &Error::remedy, "one sentence; empty: the code's own"),
                 field("context", &Error::context, "evidence, by name: node, signal, last_lines"),
                 field("cause", &Error::cause, "why, where a core of pounce decided it").only_if_set(),
                 field("signal", &Error::signal, "that ended the worker's Python, or the job"),
                 field("exit_code", &Error::exit_code, "of the worker's Python, or of the job"),
                 field("path", &Error::path, "of `file_not_here`: of the file").only_if_set(),
                 field("object", &Error::object, "of `out_of_memory`: the data that the worker refused").only_if_set(),
                 field("fits_apart", &Error::fits_apart,
                       "of `unsatisfiable`: its workers fit on no node together, but would fit one by one")
                     .only_if_set());
  }
};

// An error decided by a core: a cause without text.
inline Error error_of(ErrorCode code, Cause cause, std::map<std::string, std::string> context = {}) {
  return {code, {}, {}, std::move(context), std::move(cause)};
}
inline Error error_of(ErrorCode code, CauseCode cause) { return error_of(code, Cause{cause}); }

// The cause of an error that another cause rests on; its text, if there is no cause.
inline Cause cause_of(const Error& error) {
  return error.cause ? error.cause : Cause{.code = CauseCode::kSaid, .said = error.text};
}

// A value or an Error. Expected outcomes travel as values; exceptions are for start-up failures. A thin name over
// tl::expected, which C++23's std::expected will replace.
template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> failure(ErrorCode code, std::string text, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{code, std::move(text), std::move(remedy), {}});
}
inline tl::unexpected<Error> failure(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace pounce
