#include "protocol/codec.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "pounce/version.h"
#include "protocol/hot_headers.h"
#include "protocol/command.h"
#include "protocol/endpoint_file.h"
#include "protocol/named_record.h"

using nlohmann::json;

// JSON has one kind of number; the library would cut -1, 1.5 or 2^40 to fit. Here what does not fit is malformed.
namespace pounce::protocol {

template <class T>
static T integer(const json& j) {
  const bool fits = j.is_number_unsigned() ? std::in_range<T>(j.get<std::uint64_t>())
                                           : j.is_number_integer() && std::in_range<T>(j.get<std::int64_t>());
  if (!fits) throw json::other_error::create(501, "not a number of the right size", &j);
  return j.get<T>();
}

template <class T>
static void read(const json& j, T& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    value = integer<T>(j);
  else
    j.get_to(value);
}
template <class T>
static void read(const json& j, std::vector<T>& values) {
  values.resize(j.get_ref<const json::array_t&>().size());
  for (std::size_t i = 0; i < values.size(); ++i) read(j[i], values[i]);
}

template <class Enum, std::size_t N>
static Enum enumerator(const json& j, const char* const (&words)[N], std::optional<Enum> otherwise = std::nullopt) {
  const auto& text = j.get_ref<const std::string&>();
  for (std::size_t i = 0; i < N; ++i)
    if (text == words[i]) return static_cast<Enum>(i);
  if (!otherwise) throw json::other_error::create(501, "unknown word '" + text + "'", &j);
  return *otherwise;
}

// A field that is missing keeps its default.
template <class T>
static void read_field(const json& object, const char* name, T& value) {
  if (!object.is_object()) throw json::other_error::create(501, "not an object", &object);
  const auto field = object.find(name);
  if (field != object.end()) read(*field, value);
}

}  // namespace pounce::protocol

#define POUNCE_WRITE(name) j[#name] = message.name;
#define POUNCE_READ(name) protocol::read_field(j, #name, message.name);
#define POUNCE_FIELDS(Type, ...)                                                          \
  static void to_json(json& j, const Type& message) {                                     \
    j = json::object();                                                                   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(POUNCE_WRITE, __VA_ARGS__))                  \
  }                                                                                       \
  static void from_json(const json& j, Type& message) {                                   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(POUNCE_READ, __VA_ARGS__))                   \
  }

// Conversions for the public value types live beside them in namespace pounce so that nlohmann finds them.
namespace pounce {

template <class Tag, std::size_t N>
static void to_json(json& j, const HexId<Tag, N>& id) {
  j = id.hex();
}
template <class Tag, std::size_t N>
static void from_json(const json& j, HexId<Tag, N>& id) {
  const auto parsed = HexId<Tag, N>::from_hex(j.get_ref<const std::string&>());
  if (!parsed) throw json::other_error::create(501, "not an id of " + std::to_string(2 * N) + " hex digits", &j);
  id = *parsed;
}
template <class Tag, class T>
static void to_json(json& j, const Number<Tag, T>& number) {
  j = number.value;
}
template <class Tag, class T>
static void from_json(const json& j, Number<Tag, T>& number) {
  number.value = protocol::integer<T>(j);
}

static void to_json(json& j, const Error& error) {
  j = {{"code", wire_name(error.code)}, {"text", error.text}, {"remedy", error.remedy}, {"context", error.context}};
}
static void from_json(const json& j, Error& error) {
  error.code = error_code_from_wire(j.value("code", ""));
  error.text = j.value("text", "");
  error.remedy = j.value("remedy", "");
  error.context = j.value("context", std::map<std::string, std::string>{});
}

static constexpr const char* kPlacements[] = {"any", "spread", "pack"};

// What few ask for is there only where it is asked for: a demand is sent often.
static void to_json(json& j, const Resources& r) {
  j = {{"class", r.class_name}, {"gpus", r.gpus},     {"gpu_type", r.gpu_type},
       {"cpus", r.cpus},        {"memory_mib", r.memory_mib}, {"time_min", r.time.count()},
       {"workers", r.workers}};
  if (r.gpu_memory_mib > 0) j["gpu_memory_mib"] = r.gpu_memory_mib;
  if (r.cuda > 0) j["cuda"] = r.cuda;
  if (r.placement != Placement::kAny) j["placement"] = kPlacements[static_cast<std::size_t>(r.placement)];
  if (!r.not_nodes.empty()) j["not_nodes"] = r.not_nodes;
  if (!r.account.empty()) j["account"] = r.account;
  if (!r.reservation.empty()) j["reservation"] = r.reservation;
  if (!r.slurm.empty()) j["slurm"] = r.slurm;
}
static void from_json(const json& j, Resources& r) {
  std::int64_t minutes = 0;
  protocol::read_field(j, "class", r.class_name);
  protocol::read_field(j, "gpus", r.gpus);
  protocol::read_field(j, "gpu_type", r.gpu_type);
  protocol::read_field(j, "cpus", r.cpus);
  protocol::read_field(j, "memory_mib", r.memory_mib);
  protocol::read_field(j, "time_min", minutes);
  protocol::read_field(j, "workers", r.workers);
  protocol::read_field(j, "gpu_memory_mib", r.gpu_memory_mib);
  protocol::read_field(j, "cuda", r.cuda);
  // One of a later version is a wish that is not known, no condition.
  if (j.contains("placement")) r.placement = protocol::enumerator(j["placement"], kPlacements, std::optional(Placement::kAny));
  protocol::read_field(j, "not_nodes", r.not_nodes);
  protocol::read_field(j, "account", r.account);
  protocol::read_field(j, "reservation", r.reservation);
  protocol::read_field(j, "slurm", r.slurm);
  r.time = std::chrono::minutes(minutes);
}
POUNCE_FIELDS(LimitUse, what, most, used, asked)
POUNCE_FIELDS(Eta, start_s, low_s, high_s, basis)
POUNCE_FIELDS(Choice, kind, option, resources, now, eta, against)
static void to_json(json& j, const ClassUse& use) {
  j = {{"class", use.name},           {"preset", use.preset},
       {"time_min", use.time_min},    {"jobs_most", use.jobs_most},
       {"jobs_used", use.jobs_used},  {"submits_most", use.submits_most},
       {"submits_used", use.submits_used}, {"gpus_most", use.gpus_most},
       {"gpus_used", use.gpus_used},  {"gpus_job", use.gpus_job}};
  if (!use.instead.empty()) j["instead"] = use.instead;
}
static void from_json(const json& j, ClassUse& use) {
  protocol::read_field(j, "class", use.name);
  protocol::read_field(j, "preset", use.preset);
  protocol::read_field(j, "time_min", use.time_min);
  protocol::read_field(j, "jobs_most", use.jobs_most);
  protocol::read_field(j, "jobs_used", use.jobs_used);
  protocol::read_field(j, "submits_most", use.submits_most);
  protocol::read_field(j, "submits_used", use.submits_used);
  protocol::read_field(j, "gpus_most", use.gpus_most);
  protocol::read_field(j, "gpus_used", use.gpus_used);
  protocol::read_field(j, "gpus_job", use.gpus_job);
  protocol::read_field(j, "instead", use.instead);
}
static void to_json(json& j, const GpuUse& use) {
  j = {{"gpu_type", use.type}, {"total", use.total}, {"free", use.free}, {"eta", use.eta}};
}
static void from_json(const json& j, GpuUse& use) {
  protocol::read_field(j, "gpu_type", use.type);
  protocol::read_field(j, "total", use.total);
  protocol::read_field(j, "free", use.free);
  protocol::read_field(j, "eta", use.eta);
}

}  // namespace pounce

namespace pounce::protocol {

// The enumerators' names, in order. The library's own macro would read any unknown name as the first of them.
static constexpr const char* kRoles[] = {"client", "worker"};
static constexpr const char* kProofs[] = {"peer", "munge", "key_file"};
static constexpr const char* kReleaseHows[] = {"when_idle", "now", "cancel"};
static constexpr const char* kTaskStates[] = {"unknown", "queued", "running", "done"};

static void to_json(json& j, Role role) { j = kRoles[static_cast<std::size_t>(role)]; }
static void to_json(json& j, Proof proof) { j = kProofs[static_cast<std::size_t>(proof)]; }
static void to_json(json& j, ReleaseHow how) { j = kReleaseHows[static_cast<std::size_t>(how)]; }
static void to_json(json& j, TaskState state) { j = kTaskStates[static_cast<std::size_t>(state)]; }
static void from_json(const json& j, Role& role) { role = enumerator<Role>(j, kRoles); }
static void from_json(const json& j, Proof& proof) { proof = enumerator<Proof>(j, kProofs); }
static void from_json(const json& j, ReleaseHow& how) { how = enumerator<ReleaseHow>(j, kReleaseHows); }
// A state that a later version adds is one we do not know.
static void from_json(const json& j, TaskState& state) {
  state = enumerator<TaskState>(j, kTaskStates, TaskState::kUnknown);
}

POUNCE_FIELDS(Hello, role, proof, key, session, lease, version)
POUNCE_FIELDS(Welcome, hall, instance, heartbeat_ms)
POUNCE_FIELDS(Refused, error)
POUNCE_FIELDS(OpenSession, session, pid, host, directory, interpreter, environment, interpreter_named, carries)
POUNCE_FIELDS(Want, id, resources, waiting, running, holds)
POUNCE_FIELDS(Demand, session, wants)
POUNCE_FIELDS(CloseSession, session)
POUNCE_FIELDS(Beat, answer, sent_ns, clock_ns)
POUNCE_FIELDS(Granted, want, lease, worker, epoch, endpoint, key)
POUNCE_FIELDS(LeaseStatus, want, lease, state, reason, job, node, devices, start_estimate_s, end_time_s, class_name,
              slurm_reason, ahead, limit, eta)
POUNCE_FIELDS(WorkerDown, lease, worker, epoch, error)
POUNCE_FIELDS(LeaseEnded, want, lease, error)
POUNCE_FIELDS(WantFailed, want, error)
POUNCE_FIELDS(QueueAsk, request)
POUNCE_FIELDS(QueueRow, job, name, class_name, state, reason, node, devices, lease, submit_time_s, start_time_s,
              end_time_s, why)
POUNCE_FIELDS(QueueIs, request, rows, error, launcher)
POUNCE_FIELDS(ClassesAsk, request, compare, asks, limit, eta)
POUNCE_FIELDS(ClassesIs, request, classes, gpus, cpus_free, cpu_eta, choices, error, launcher)
POUNCE_FIELDS(StatusAsk, request)
POUNCE_FIELDS(StatusIs, request, document)
POUNCE_FIELDS(ReleaseAsk, request, leases, how, by)
POUNCE_FIELDS(ReleaseRow, lease, state, waiting, running)
POUNCE_FIELDS(ReleaseIs, request, rows)
POUNCE_FIELDS(NameTask, request, name, task, resources, retries)
POUNCE_FIELDS(NameAsk, request, name)
POUNCE_FIELDS(NameEnd, request, name, forget)
POUNCE_FIELDS(NameCarry, request, name, ok, digest, error)
POUNCE_FIELDS(NamedRow, name, task, state, reason, lease, job, node, carried, ok, digest, size, submit_time_s, end_time_s, error,
              class_name, slurm_reason, ahead, start_estimate_s, limit, eta)
POUNCE_FIELDS(NamesAre, request, rows, error)
POUNCE_FIELDS(RunNamed, lease, worker, epoch, session, task, folder)
POUNCE_FIELDS(NamedEnded, lease, worker, epoch, task, ok, digest, error)
POUNCE_FIELDS(Notice, text)
POUNCE_FIELDS(WorkerUp, lease, worker, job, restart, node, devices, pid, interpreter_ready, epoch, endpoint, key)
POUNCE_FIELDS(InterpreterUp, lease, worker, epoch, endpoint, key)
POUNCE_FIELDS(InterpreterDown, lease, worker, epoch, error, restarting)
POUNCE_FIELDS(WorkerBeat, lease, worker, running, leaving, busy_ms, idle_ms, cpu_ms, memory_mib, gpu_percent, gpu_memory_mib,
              gpu_memory_total_mib, warnings)
POUNCE_FIELDS(Admit, lease, session, key)
POUNCE_FIELDS(Dismiss, lease, session, reason)
POUNCE_FIELDS(EndWorker, lease, reason, only_if_idle)
POUNCE_FIELDS(Ready, endpoint, key)
POUNCE_FIELDS(Activity, running, client_heard_ms_ago)
POUNCE_FIELDS(Walltime, end_time_s)
POUNCE_FIELDS(Attach, session, pounce, python, cloudpickle)
POUNCE_FIELDS(Attached, pounce, python, cloudpickle, host, node, devices, directory, pid)
POUNCE_FIELDS(Function, function, command)
POUNCE_FIELDS(Object, object, buffers, pickle_follows)
POUNCE_FIELDS(Chunk, of, buffer, offset)
POUNCE_FIELDS(Have, object)
POUNCE_FIELDS(Drop, objects)
POUNCE_FIELDS(Task, task, function, objects, attempt)
POUNCE_FIELDS(Started, task)
POUNCE_FIELDS(Output, task, stream)
POUNCE_FIELDS(Outcome, task, ok, error, buffers, pickle_follows, received_ns, run_start_ns, run_end_ns, sent_ns)
POUNCE_FIELDS(Ack, tasks)
POUNCE_FIELDS(Query, tasks)
POUNCE_FIELDS(QueryIs, tasks, states)
POUNCE_FIELDS(CancelTask, task, grace_ms)
POUNCE_FIELDS(Input, task)
POUNCE_FIELDS(EndpointFile, v, instance, cluster, pid, uid, key, door, munge_socket, proof, key_file, launcher, version,
              log, results, classes)
POUNCE_FIELDS(NamedRecord, v, instance, row, opened, resources, retries, worker, epoch)
#undef POUNCE_FIELDS
#undef POUNCE_READ
#undef POUNCE_WRITE

namespace {

using Parser = Header (*)(const json&);

template <class Message>
Header parse_as(const json& j) {
  return j.get<Message>();
}

// One row per alternative of Header, made from the variant itself: a new message cannot be forgotten here.
template <class... Messages>
std::unordered_map<std::string_view, Parser> parsers_of(const std::variant<Messages...>*) {
  return {{Messages::kType, &parse_as<Messages>}...};
}

const std::unordered_map<std::string_view, Parser>& parsers() {
  static const auto table = parsers_of(static_cast<const Header*>(nullptr));
  return table;
}

}  // namespace

std::string encode(const Header& header) {
  if (auto hot = encode_hot(header)) return *std::move(hot);
  return std::visit(
      [](const auto& message) {
        json j = message;
        j["v"] = kProtocolVersion;
        j["type"] = message.kType;
        // Text from outside (Slurm reasons, last lines) may not be UTF-8: replaced, never thrown over.
        return j.dump(-1, ' ', false, json::error_handler_t::replace);
      },
      header);
}

Result<Header> decode(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > limit)
    return failure(ErrorCode::kTooLarge, "a header of " + std::to_string(bytes.size()) + " bytes is over the limit of " +
                                             std::to_string(limit));
  if (auto hot = decode_hot(bytes)) return *std::move(hot);
  try {
    const json j = json::parse(bytes);
    if (j.value("v", 0) != kProtocolVersion)
      return failure(ErrorCode::kVersionMismatch, "the peer speaks protocol " + j.value("v", json()).dump() +
                                                      ", this side " + std::to_string(kProtocolVersion));
    const std::string type = j.value("type", "");
    const auto parser = parsers().find(type);
    if (parser == parsers().end()) return failure(ErrorCode::kProtocol, "unknown message type '" + type + "'");
    return parser->second(j);
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed header: ") + e.what());
  }
}

std::string encode_error(const Error& error) {
  return json(error).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string encode_endpoint_file(const EndpointFile& file) {
  return json(file).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string encode_named_record(const NamedRecord& record) {
  return json(record).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<NamedRecord> decode_named_record(std::string_view text) {
  try {
    auto record = json::parse(text).get<NamedRecord>();
    return record.v == 1 ? std::optional(std::move(record)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

Result<EndpointFile> decode_endpoint_file(std::string_view text) {
  try {
    auto file = json::parse(text).get<EndpointFile>();
    if (file.v != 1) return failure(ErrorCode::kVersionMismatch, "an endpoint file of version " + std::to_string(file.v));
    return file;
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed endpoint file: ") + e.what());
  }
}

std::string encode_command(const std::vector<std::string>& argv) {
  return json(argv).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<int> decode_exit_code(std::string_view text) {
  try {
    return integer<int>(json::parse(text).at("exit_code"));
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed end of a command: ") + e.what());
  }
}

}  // namespace pounce::protocol
