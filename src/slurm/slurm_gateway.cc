#include "slurm/slurm_gateway.h"

#include <algorithm>
#include <deque>

#include "protocol/stream_framing.h"
#include "slurm/helper_process.h"
#include "slurm/wire.h"

namespace pounce::slurm {
namespace {

using Finish = std::function<void(Result<Answer>)>;

struct Pending {
  Request request;
  Finish finish;
  bool sent = false;
  TimePoint deadline = TimePoint::max();
};

Error with_stderr(Error error, const std::string& text) {
  if (!text.empty()) error.context["stderr"] = text;
  return error;
}

}  // namespace

struct SlurmGateway::Impl {
  explicit Impl(GatewayOptions chosen) : options(std::move(chosen)) {}

  void ask(Request request, Finish finish);
  void send_next();
  void take(const std::string& record);
  void lose(const std::string& why);
  bool ensure_helper();

  GatewayOptions options;
  std::unique_ptr<HelperProcess> helper;
  protocol::RecordReader reader{kRecordBytes};
  std::deque<Pending> queue;  // the front one is under way: the helper does one thing at a time
  std::uint64_t next_id = 1;
};

void SlurmGateway::Impl::ask(Request request, Finish finish) {
  request.id = next_id++;
  queue.push_back({std::move(request), std::move(finish)});
  if (queue.size() == 1) send_next();
}

bool SlurmGateway::Impl::ensure_helper() {
  if (helper) return true;
  auto environment = options.environment;
#ifdef POUNCE_LIBSLURMFULL
  // With plain libslurm a restart of slurmdbd ends the helper by a missing symbol (libslurm.md §0.1-2).
  environment.emplace("LD_PRELOAD", POUNCE_LIBSLURMFULL);
#endif
  auto started = HelperProcess::start(options.program, environment);
  if (!started) {
    const Error error = started.error();
    auto finish = std::move(queue.front().finish);
    queue.pop_front();
    finish(failure(error));
    return false;
  }
  helper = std::move(*started);
  reader = protocol::RecordReader(kRecordBytes);
  return true;
}

// Requests leave one at a time, so that a helper's death leaves at most one outcome unknown.
void SlurmGateway::Impl::send_next() {
  while (!queue.empty() && !queue.front().sent) {
    if (!ensure_helper()) continue;
    Pending& pending = queue.front();
    pending.sent = true;
    pending.deadline = Clock::now() + options.request_deadline;
    if (helper->write(protocol::frame_record(encode(pending.request)))) return;
    lose("pounce-slurm ended before it took the request");
    return;
  }
}

void SlurmGateway::Impl::take(const std::string& record) {
  auto answer = decode_answer(record);
  if (!answer || queue.empty() || answer->id != queue.front().request.id) {
    lose(answer ? "pounce-slurm answered something that was not asked" : answer.error().text);
    return;
  }
  const std::string printed = helper->take_stderr();
  auto finish = std::move(queue.front().finish);
  queue.pop_front();
  if (answer->error)
    finish(failure(with_stderr(*answer->error, printed)));
  else
    finish(std::move(answer));
  send_next();
}

// The helper died, lies or is too slow: it is replaced, and what it had in hand has an unknown outcome.
void SlurmGateway::Impl::lose(const std::string& why) {
  const std::string printed = helper ? helper->take_stderr() : std::string();
  helper.reset();
  if (queue.empty() || !queue.front().sent) return;
  auto finish = std::move(queue.front().finish);
  queue.pop_front();
  finish(failure(with_stderr({ErrorCode::kOutcomeUnknown, why, {}, {}}, printed)));
  send_next();
}

SlurmGateway::SlurmGateway(GatewayOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SlurmGateway::~SlurmGateway() = default;

void SlurmGateway::facts(Reply<ClusterFacts> reply) {
  Request request;
  request.operation = Operation::kFacts;
  impl_->ask(std::move(request), [reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([](const Answer& a) { return a.facts; }));
  });
}

void SlurmGateway::submit(const JobSpec& spec, Reply<Incarnation> reply) {
  Request request;
  request.operation = Operation::kSubmit;
  request.spec = spec;
  impl_->ask(std::move(request), [reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([](const Answer& a) { return a.job; }));
  });
}

void SlurmGateway::cancel(const Incarnation& job, Reply<void> reply) {
  Request request;
  request.operation = Operation::kCancel;
  request.jobs = {job};
  impl_->ask(std::move(request), [reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([](const Answer&) {}));
  });
}

namespace {

std::function<void(Result<Answer>)> job_list(SlurmGateway::Reply<std::vector<JobView>> reply) {
  return [reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([](const Answer& a) { return a.jobs; }));
  };
}

}  // namespace

void SlurmGateway::poll(const std::vector<Incarnation>& jobs, Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kPoll;
  request.jobs = jobs;
  impl_->ask(std::move(request), job_list(std::move(reply)));
}

void SlurmGateway::sweep(const InstanceId& instance, Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kSweep;
  request.instance = instance;
  impl_->ask(std::move(request), job_list(std::move(reply)));
}

void SlurmGateway::queue(Reply<std::vector<JobView>> reply) {
  Request request;
  request.operation = Operation::kQueue;
  impl_->ask(std::move(request), job_list(std::move(reply)));
}

void SlurmGateway::version(Reply<std::string> reply) {
  Request request;
  request.operation = Operation::kVersion;
  impl_->ask(std::move(request), [reply = std::move(reply)](Result<Answer> answer) {
    reply(answer.map([](const Answer& a) { return a.version; }));
  });
}

int SlurmGateway::fd() const { return impl_->helper ? impl_->helper->fd() : -1; }
int SlurmGateway::helper_pid() const { return impl_->helper ? impl_->helper->pid() : 0; }

void SlurmGateway::on_readable() {
  if (!impl_->helper) return;
  bool closed = false;
  impl_->reader.append(impl_->helper->read(closed));
  while (impl_->helper) {
    auto record = impl_->reader.next();
    if (!record) {
      impl_->lose(record.error().text);
      return;
    }
    if (!*record) break;
    impl_->take(**record);
  }
  if (closed && impl_->helper) impl_->lose("pounce-slurm ended: libslurm ended its process");
}

void SlurmGateway::on_time(TimePoint now) {
  if (now >= next_deadline()) impl_->lose("Slurm did not answer within the deadline");
}

TimePoint SlurmGateway::next_deadline() const {
  return impl_->queue.empty() ? TimePoint::max() : impl_->queue.front().deadline;
}

}  // namespace pounce::slurm
