#include "slurm/wire.h"

#include <nlohmann/json.hpp>

using nlohmann::json;

namespace pounce {

template <class Tag, std::size_t N>
static void to_json(json& j, const HexId<Tag, N>& id) {
  j = id.hex();
}
template <class Tag, std::size_t N>
static void from_json(const json& j, HexId<Tag, N>& id) {
  const auto read = HexId<Tag, N>::from_hex(j.get<std::string>());
  if (!read) throw json::other_error::create(501, "not an id", nullptr);
  id = *read;
}
// A number that is no enumerator would be read as a state that does not exist.
template <class E>
E enumerator(const json& j, E last) {
  const int number = j.get<int>();
  if (number < 0 || number > static_cast<int>(last))
    throw json::other_error::create(501, "no such enumerator: " + std::to_string(number), nullptr);
  return static_cast<E>(number);
}
template <class T>
void optional_to_json(json& j, const std::optional<T>& value) {
  j = value ? json(*value) : json(nullptr);
}
template <class T>
std::optional<T> optional_from(const json& j) {
  if (j.is_null()) return std::nullopt;
  return j.get<T>();
}

static void to_json(json& j, const Error& e) {
  j = {{"code", wire_name(e.code)}, {"text", e.text}, {"remedy", e.remedy}, {"context", e.context}};
}
static void from_json(const json& j, Error& e) {
  e = {error_code_from_wire(j.value("code", "")), j.value("text", ""), j.value("remedy", ""),
       j.value("context", std::map<std::string, std::string>{})};
}
static void to_json(json& j, const Incarnation& i) { j = json::array({i.job.value, i.submit_time_s, i.restart}); }
static void from_json(const json& j, Incarnation& i) {
  i.job.value = j.at(0).get<std::uint32_t>();
  i.submit_time_s = j.at(1).get<std::int64_t>();
  i.restart = j.at(2).get<std::uint32_t>();
}
// Not what pounced has resolved before: memory and CUDA of a GPU are a type then, the placement is nodes.
static void to_json(json& j, const Resources& r) {
  j = {{"class_name", r.class_name}, {"gpus", r.gpus},
       {"gpu_type", r.gpu_type},     {"cpus", r.cpus},
       {"memory_mib", r.memory_mib}, {"time_min", r.time.count()},
       {"workers", r.workers},       {"not_nodes", r.not_nodes},
       {"account", r.account},       {"reservation", r.reservation},
       {"slurm", r.slurm}};
}
static void from_json(const json& j, Resources& r) {
  j.at("class_name").get_to(r.class_name);
  j.at("gpus").get_to(r.gpus);
  j.at("gpu_type").get_to(r.gpu_type);
  j.at("cpus").get_to(r.cpus);
  j.at("memory_mib").get_to(r.memory_mib);
  r.time = std::chrono::minutes(j.at("time_min").get<std::int64_t>());
  j.at("workers").get_to(r.workers);
  r.not_nodes = j.value("not_nodes", "");
  r.account = j.value("account", "");
  r.reservation = j.value("reservation", "");
  r.slurm = j.value("slurm", decltype(r.slurm){});
}
static void to_json(json& j, const ClassLimits& l) {
  j = {{"name", l.name},
       {"max_time_min", l.max_time.count()},
       {"max_running_per_user", l.max_running_per_user},
       {"max_submit_per_user", l.max_submit_per_user}};
}
static void from_json(const json& j, ClassLimits& l) {
  j.at("name").get_to(l.name);
  l.max_time = std::chrono::minutes(j.at("max_time_min").get<std::int64_t>());
  j.at("max_running_per_user").get_to(l.max_running_per_user);
  j.at("max_submit_per_user").get_to(l.max_submit_per_user);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClusterFacts, cluster, version, munge_socket, auth_type, controller_address,
                                   default_partition, default_class, associated, classes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClassUse, name, preset, time_min, jobs_most, jobs_used, submits_most, submits_used,
                                   gpus_most, gpus_used, gpus_job)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Eta, start_s, low_s, high_s, basis)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuUse, type, total, free, eta)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClassReport, classes, gpus, cpus_free, cpu_eta)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HeldJob, job, cpus, nodes, user, class_name, name, node, reason, lease, running, batch, gpus,
                                   submit_s, start_s, end_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Holdings, cluster, hides_others, jobs, gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UsedShare, user, class_name, mode, jobs, gpu_s, cpu_s, told_s, busy_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UsageFacts, cluster, from_s, to_s, has_database, counts_gpus, counts_gpu_use,
                                   keeps_comments, shares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeUse, name, partitions, takes_work, cpus, cpus_free, memory_mib, memory_free_mib, gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Survey, default_partition, use, nodes, not_nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(JobSpec, qos, partition, prologue, instance, lease, resources, name, command, environment, directory, log_path)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LimitUse, what, most, used, asked)

static void to_json(json& j, const JobView& v) {
  j = {{"incarnation", v.incarnation},
       {"name", v.name},
       {"class_name", v.class_name},
       {"state", static_cast<int>(v.state)},
       {"end", static_cast<int>(v.end)},
       {"raw_state", v.raw_state},
       {"state_name", v.state_name},
       {"reason", v.reason},
       {"reason_word", v.reason_word},
       {"limit", v.limit},
       {"ahead", v.ahead},
       {"eta", v.eta},
       {"nodes", v.nodes},
       {"devices", v.devices},
       {"resources", v.resources},
       {"submit_time_s", v.submit_time_s},
       {"start_time_s", v.start_time_s},
       {"end_time_s", v.end_time_s},
       {"preempt_time_s", v.preempt_time_s},
       {"exit_code", v.exit_code},
       {"signal", v.signal}};
  optional_to_json(j["instance"], v.instance);
  optional_to_json(j["lease"], v.lease);
}
static void from_json(const json& j, JobView& v) {
  j.at("incarnation").get_to(v.incarnation);
  v.instance = optional_from<InstanceId>(j.at("instance"));
  v.lease = optional_from<LeaseId>(j.at("lease"));
  j.at("name").get_to(v.name);
  j.at("class_name").get_to(v.class_name);
  v.state = enumerator(j.at("state"), JobState::kEnded);
  v.end = enumerator(j.at("end"), JobEnd::kGone);
  j.at("raw_state").get_to(v.raw_state);
  j.at("state_name").get_to(v.state_name);
  j.at("reason").get_to(v.reason);
  j.at("reason_word").get_to(v.reason_word);
  j.at("limit").get_to(v.limit);
  j.at("ahead").get_to(v.ahead);
  j.at("eta").get_to(v.eta);
  j.at("nodes").get_to(v.nodes);
  j.at("devices").get_to(v.devices);
  j.at("resources").get_to(v.resources);
  j.at("submit_time_s").get_to(v.submit_time_s);
  j.at("start_time_s").get_to(v.start_time_s);
  j.at("end_time_s").get_to(v.end_time_s);
  v.preempt_time_s = j.value("preempt_time_s", std::int64_t{0});
  j.at("exit_code").get_to(v.exit_code);
  j.at("signal").get_to(v.signal);
}

static void to_json(json& j, const Qos& q) {
  j = {{"name", q.name},
       {"priority", q.priority},
       {"preempts", q.preempts},
       {"grace_s", q.grace.count()},
       {"deny_on_limit", q.deny_on_limit}};
  optional_to_json(j["walltime_min"], q.walltime ? std::optional(q.walltime->count()) : std::nullopt);
  optional_to_json(j["running_jobs_per_user"], q.running_jobs_per_user);
  optional_to_json(j["gpus_per_user"], q.gpus_per_user);
}
static void from_json(const json& j, Qos& q) {
  j.at("name").get_to(q.name);
  j.at("priority").get_to(q.priority);
  j.at("preempts").get_to(q.preempts);
  q.grace = std::chrono::seconds(j.at("grace_s").get<std::int64_t>());
  j.at("deny_on_limit").get_to(q.deny_on_limit);
  if (const auto minutes = optional_from<std::int64_t>(j.at("walltime_min")))
    q.walltime = std::chrono::minutes(*minutes);
  q.running_jobs_per_user = optional_from<std::uint32_t>(j.at("running_jobs_per_user"));
  q.gpus_per_user = optional_from<std::uint64_t>(j.at("gpus_per_user"));
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QosFacts, cluster, has_database, enforces_limits, enforces_qos, counts_gpus,
                                   preempts_by_qos, user, may_write, partitions, qos)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Room, gpus, cpus, memory_mib)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoomAsked, partitions, features, only_nodes, not_nodes, nodes, each)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RoomHeld, job, node, room)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeRoom, name, partitions, features, free)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QueueLook, hidden, waiting, held, nodes)

}  // namespace pounce

namespace pounce::slurm {
namespace {

// Text of libslurm or of a user's job name may not be UTF-8: replaced, never thrown over.
std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class T>
Result<T> decoded(std::string_view record, T (*read)(const json&)) {
  try {
    return read(json::parse(record));
  } catch (const json::exception& e) {
    return failure(ErrorCode::kProtocol, std::string("malformed record between pounced and pounce-slurm: ") + e.what());
  }
}

Request read_request(const json& j) {
  Request request;
  request.id = j.at("id").get<std::uint64_t>();
  request.operation = enumerator(j.at("operation"), Operation::kLook);
  if (j.contains("spec")) j.at("spec").get_to(request.spec);
  j.at("jobs").get_to(request.jobs);
  j.at("instance").get_to(request.instance);
  if (j.contains("qos")) j.at("qos").get_to(request.qos);
  request.note = j.value("note", "");
  request.from_s = j.value("from_s", std::int64_t{0});
  request.not_nodes = j.value("not_nodes", "");
  return request;
}

Answer read_answer(const json& j) {
  Answer answer;
  answer.id = j.at("id").get<std::uint64_t>();
  if (j.contains("error")) {
    answer.error = j.at("error").get<Error>();
    return answer;
  }
  if (j.contains("facts")) j.at("facts").get_to(answer.facts);
  j.at("job").get_to(answer.job);
  j.at("jobs").get_to(answer.jobs);
  j.at("version").get_to(answer.version);
  j.at("qos").get_to(answer.qos);
  j.at("classes").get_to(answer.classes);
  j.at("holdings").get_to(answer.holdings);
  j.at("usage").get_to(answer.usage);
  if (j.contains("survey")) j.at("survey").get_to(answer.survey);
  j.at("look").get_to(answer.look);
  return answer;
}

}  // namespace

std::string encode(const Request& request) {
  json j = {{"id", request.id},
            {"operation", static_cast<int>(request.operation)},
            {"jobs", request.jobs},
            {"instance", request.instance}};
  if (request.operation == Operation::kSubmit) j["spec"] = request.spec;
  if (request.operation == Operation::kWriteQos) j["qos"] = request.qos;
  if (request.operation == Operation::kNote) j["note"] = request.note;
  if (request.operation == Operation::kUsage) j["from_s"] = request.from_s;
  if (request.operation == Operation::kSurvey) j["not_nodes"] = request.not_nodes;
  return dump(j);
}

std::string encode(const Answer& answer) {
  if (answer.error) return dump({{"id", answer.id}, {"error", *answer.error}});
  json j = {{"id", answer.id},
            {"facts", answer.facts},
            {"job", answer.job},
            {"jobs", answer.jobs},
            {"version", answer.version},
            {"qos", answer.qos},
            {"classes", answer.classes},
            {"holdings", answer.holdings},
            {"usage", answer.usage},
            {"look", answer.look}};
  const Survey& survey = answer.survey;  // large, so only where it was asked for; nodes may be hidden
  if (!survey.nodes.empty() || !survey.default_partition.empty() || !survey.use.classes.empty()) j["survey"] = survey;
  return dump(j);
}

Result<Request> decode_request(std::string_view record) { return decoded<Request>(record, &read_request); }
Result<Answer> decode_answer(std::string_view record) { return decoded<Answer>(record, &read_answer); }

}  // namespace pounce::slurm
