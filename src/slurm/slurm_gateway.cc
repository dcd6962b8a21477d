#include "slurm/slurm_gateway.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "protocol/stream_framing.h"
#include "slurm/helper_process.h"
#include "slurm/wire.h"

namespace pounce::slurm {
namespace {

using Finish = std::function<void(Result<Answer>)>;

// Pause before the next start when helpers die in a row; the first death may be an accident and costs nothing.
constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{30000};
constexpr std::size_t kQuoted = 600;  // of what libslurm printed, in the sentence for the person

struct Pending {
  Request request;
  Finish finish;
  bool sent = false;
  TimePoint deadline;            // when sent
  std::optional<Error> verdict;  // could not be sent: told at the next on_time()
};

// "pounce-slurm: error: a\npounce-slurm: fatal: b" -> "a; b"
std::string in_one_line(std::string printed) {
  for (const char* noise : {"pounce-slurm: ", "error: ", "fatal: "})
    for (auto at = printed.find(noise); at != std::string::npos; at = printed.find(noise))
      printed.erase(at, std::string_view(noise).size());
  std::string line;
  for (const char c : printed) line += c == '\n' ? std::string("; ") : std::string(1, c);
  return line.substr(0, kQuoted);
}

// libslurm says the decisive word on standard error only: which limit, which key of slurm.conf (gotchas S4).
Error with_stderr(Error error, const std::string& printed) {
  if (printed.empty()) return error;
  error.context["stderr"] = printed;
  if (error.code == ErrorCode::kRejected || error.code == ErrorCode::kSlurmConfig)
    error.text += ": " + in_one_line(printed);
  return error;
}

// Of a question nothing is lost; of a deed it is not known whether it was done.
ErrorCode code_of_loss(Operation operation) {
  const bool deed =
      operation == Operation::kSubmit || operation == Operation::kCancel || operation == Operation::kNote || operation == Operation::kWriteQos;
  return deed ? ErrorCode::kOutcomeUnknown : ErrorCode::kSlurmUnreachable;
}

}  // namespace

struct SlurmGateway::Impl {
  explicit Impl(GatewayOptions chosen) : options(std::move(chosen)) {}

  void ask(Request request, Finish finish);
  template <class T>
  void ask_for(Request request, T Answer::* part, Reply<T> reply);  // that part of the answer
  void ask_to(Request request, Reply<void> reply);                  // whether it was done
  void send_front(TimePoint now);
  Result<void> ensure_helper();
  void take(const std::string& record);
  void lose(const std::string& why, TimePoint now);
  void note_loss(TimePoint now);
  void finish_front(Result<Answer> answer);

  GatewayOptions options;
  std::unique_ptr<HelperProcess> helper;
  protocol::RecordReader reader{kRecordBytes};
  std::deque<Pending> queue;  // the front one is under way: the helper does one thing at a time
  std::uint64_t next_id = 1, helpers_started = 0;
  int losses = 0;        // since the last answer
  TimePoint not_before;  // no helper is started earlier
};

void SlurmGateway::Impl::ask(Request request, Finish finish) {
  request.id = next_id++;
  queue.push_back({std::move(request), std::move(finish), false, {}, {}});
  if (queue.size() == 1) send_front(Clock::now());
}

template <class T>
void SlurmGateway::Impl::ask_for(Request request, T Answer::* part, Reply<T> reply) {
  ask(std::move(request), [part, reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([part](const Answer& a) { return a.*part; }));
  });
}

void SlurmGateway::Impl::ask_to(Request request, Reply<void> reply) {
  ask(std::move(request),
      [reply = std::move(reply)](Result<Answer> answer) { reply(answer.map([](const Answer&) {})); });
}

Result<void> SlurmGateway::Impl::ensure_helper() {
  if (helper) return {};
  auto environment = options.environment;
#ifdef POUNCE_LIBSLURMFULL
  // With plain libslurm a restart of slurmdbd ends the helper by a missing symbol (gotchas S1).
  if (::access(POUNCE_LIBSLURMFULL, R_OK) == 0) environment.emplace("LD_PRELOAD", POUNCE_LIBSLURMFULL);
#endif
  std::vector<std::string> command = {options.program};
  if (options.admin) command.push_back("--admin");
  auto started = HelperProcess::start(command, environment);
  if (!started) return failure(started.error());
  helper = std::move(*started);
  ++helpers_started;
  reader = protocol::RecordReader(kRecordBytes);
  return {};
}

// Requests leave one at a time, so that a helper's death leaves at most one outcome unknown. A helper that cannot take
// the record was dead before: nothing has happened yet, so another one gets it.
void SlurmGateway::Impl::send_front(TimePoint now) {
  if (queue.empty() || queue.front().sent || queue.front().verdict || now < not_before) return;
  Pending& pending = queue.front();
  const std::string record = protocol::frame_record(encode(pending.request));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto running = ensure_helper();
    if (!running) {
      note_loss(now);
      pending.verdict = running.error();
      pending.deadline = now;
      return;
    }
    if (helper->write(record)) {
      pending.sent = true;
      pending.deadline = now + options.request_deadline;
      return;
    }
    helper.reset();
  }
  note_loss(now);
  pending.verdict =
      Error{code_of_loss(pending.request.operation), "pounce-slurm ended before it took the request", {}, {}};
  pending.deadline = now;
}

void SlurmGateway::Impl::finish_front(Result<Answer> answer) {
  auto finish = std::move(queue.front().finish);
  queue.pop_front();
  finish(std::move(answer));
}

void SlurmGateway::Impl::take(const std::string& record) {
  auto answer = decode_answer(record);
  if (!answer || queue.empty() || !queue.front().sent || answer->id != queue.front().request.id) {
    lose(answer ? "pounce-slurm answered something that was not asked" : answer.error().text, Clock::now());
    return;
  }
  const std::string printed = helper->take_stderr();
  losses = 0;
  if (answer->error)
    finish_front(failure(with_stderr(*answer->error, printed)));
  else
    finish_front(std::move(answer));
  send_front(Clock::now());
}

void SlurmGateway::Impl::note_loss(TimePoint now) {
  if (losses > 0) {
    const int doublings = std::min(losses - 1, 10);
    not_before = now + std::min<Duration>(kFirstPause * (1 << doublings), kLongestPause);
  }
  ++losses;
}

// The helper died, lies or is too slow: it is replaced, and so is the answer to what it had in hand.
void SlurmGateway::Impl::lose(const std::string& why, TimePoint now) {
  const std::string printed = helper ? helper->take_stderr() : std::string();
  helper.reset();
  note_loss(now);
  if (!queue.empty() && queue.front().sent)
    finish_front(failure(with_stderr({code_of_loss(queue.front().request.operation), why, {}, {}}, printed)));
  send_front(now);
}

SlurmGateway::SlurmGateway(GatewayOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SlurmGateway::~SlurmGateway() = default;

void SlurmGateway::facts(Reply<ClusterFacts> reply) {
  Request request;
  request.operation = Operation::kFacts;
  impl_->ask_for(std::move(request), &Answer::facts, std::move(reply));
}

void SlurmGateway::submit(const JobSpec& spec, Reply<Incarnation> reply) {
  Request request;
  request.operation = Operation::kSubmit;
  request.spec = spec;
  impl_->ask_for(std::move(request), &Answer::job, std::move(reply));
}

void SlurmGateway::cancel(const Incarnation& job, Reply<void> reply) {
  Request request;
  request.operation = Operation::kCancel;
  request.jobs = {job};
  impl_->ask_to(std::move(request), std::move(reply));
}

void SlurmGateway::poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kPoll;
  request.jobs = jobs;
  impl_->ask_for(std::move(request), &Answer::jobs, std::move(reply));
}

void SlurmGateway::sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kSweep;
  request.instance = instance;
  impl_->ask_for(std::move(request), &Answer::jobs, std::move(reply));
}

void SlurmGateway::queue(Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kQueue;
  impl_->ask_for(std::move(request), &Answer::jobs, std::move(reply));
}

void SlurmGateway::read_qos(Reply<QosFacts> reply) {
  Request request;
  request.operation = Operation::kReadQos;
  impl_->ask_for(std::move(request), &Answer::qos, std::move(reply));
}

void SlurmGateway::write_qos(const std::vector<Qos>& qos, Reply<QosFacts> reply) {
  Request request;
  request.operation = Operation::kWriteQos;
  request.qos = qos;
  impl_->ask_for(std::move(request), &Answer::qos, std::move(reply));
}

void SlurmGateway::note(const Incarnation& job, const std::string& comment, Reply<void> reply) {
  Request request;
  request.operation = Operation::kNote;
  request.jobs = {job};
  request.note = comment;
  impl_->ask_to(std::move(request), std::move(reply));
}

void SlurmGateway::holdings(Reply<Holdings> reply) {
  Request request;
  request.operation = Operation::kHoldings;
  impl_->ask_for(std::move(request), &Answer::holdings, std::move(reply));
}

void SlurmGateway::usage(std::int64_t from_s, Reply<UsageFacts> reply) {
  Request request;
  request.operation = Operation::kUsage;
  request.from_s = from_s;
  impl_->ask_for(std::move(request), &Answer::usage, std::move(reply));
}

void SlurmGateway::look(const std::vector<Incarnation>& ours, Reply<QueueLook> reply) {
  Request request;
  request.operation = Operation::kLook;
  request.jobs = ours;
  impl_->ask_for(std::move(request), &Answer::look, std::move(reply));
}

void SlurmGateway::classes(Reply<ClassReport> reply) {
  Request request;
  request.operation = Operation::kClasses;
  impl_->ask_for(std::move(request), &Answer::classes, std::move(reply));
}

void SlurmGateway::survey(const std::string& not_nodes, Reply<Survey> reply) {
  Request request;
  request.operation = Operation::kSurvey;
  request.not_nodes = not_nodes;
  impl_->ask_for(std::move(request), &Answer::survey, std::move(reply));
}

void SlurmGateway::version(Reply<std::string> reply) {
  Request request;
  request.operation = Operation::kVersion;
  impl_->ask_for(std::move(request), &Answer::version, std::move(reply));
}

int SlurmGateway::fd() const { return impl_->helper ? impl_->helper->fd() : -1; }
int SlurmGateway::helper_pid() const { return impl_->helper ? impl_->helper->pid() : 0; }

void SlurmGateway::on_readable() {
  if (!impl_->helper) return;
  const std::uint64_t read_from = impl_->helpers_started;
  bool closed = false;
  impl_->reader.append(impl_->helper->read(closed));
  while (impl_->helper && impl_->helpers_started == read_from) {  // a callback may have caused its replacement
    auto record = impl_->reader.next();
    if (!record) return impl_->lose(record.error().text, Clock::now());
    if (!*record) break;
    impl_->take(**record);
  }
  if (!closed || !impl_->helper || impl_->helpers_started != read_from) return;
  impl_->lose("pounce-slurm ended (" + impl_->helper->how_it_ended() + "), as libslurm ends programs", Clock::now());
}

void SlurmGateway::on_time(TimePoint now) {
  while (!impl_->queue.empty() && now >= next_deadline()) {
    Pending& front = impl_->queue.front();
    if (front.verdict)
      impl_->finish_front(failure(*front.verdict));
    else if (front.sent)
      impl_->lose(
          "pounce-slurm did not answer within " + std::to_string(impl_->options.request_deadline.count()) + " ms", now);
    impl_->send_front(now);
  }
}

TimePoint SlurmGateway::next_deadline() const {
  if (impl_->queue.empty()) return TimePoint::max();
  const Pending& front = impl_->queue.front();
  return front.sent || front.verdict ? front.deadline : impl_->not_before;
}

}  // namespace pounce::slurm
