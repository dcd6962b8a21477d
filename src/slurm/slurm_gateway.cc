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

using Finish = SlurmGateway::Reply<std::any>;

// Pause before the next start when helpers die in a row. The first death may be an accident and causes no pause.
constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{30000};
constexpr std::size_t kQuoted = 600;  // characters of libslurm's output in the message for the user

struct Pending {
  Request request;
  Finish finish;
  bool sent = false;
  TimePoint deadline;            // when sent
  std::optional<Error> verdict;  // set if it could not be sent; reported at the next on_time()
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

// libslurm's message about a slurmctld that is more than two major releases newer. Its error code is also that of a
// script's refusal.
bool speaks_another_protocol(const std::string& printed) {
  return printed.find("Incompatible versions of client and server code") != std::string::npos;
}

// libslurm prints the decisive detail on standard error only: which limit, which key of slurm.conf (gotchas S4).
Error with_stderr(Error error, const std::string& printed) {
  if (printed.empty()) return error;
  error.context["stderr"] = printed;
  if (speaks_another_protocol(printed)) {
    error.code = ErrorCode::kVersionMismatch;
    error.text =
        "pounce-slurm has the libslurm of an older Slurm than this cluster's slurmctld, which no longer speaks with it";
    error.remedy = "Run pouncectl rebuild, with this cluster's Slurm first on PATH or named by --slurm-prefix.";
    return error;
  }
  if (error.code == ErrorCode::kRejected || error.code == ErrorCode::kSlurmConfig)
    error.text += ": " + in_one_line(printed);
  else if (error.code == ErrorCode::kUnsatisfiable)  // a site rule (job_submit.lua) may use the same number
    error.text += "; Slurm says: " + in_one_line(printed);
  return error;
}

// A lost query changed nothing. A lost mutation may or may not have been applied.
ErrorCode code_of_loss(const Question& question) {
  return is_mutation(question) ? ErrorCode::kOutcomeUnknown : ErrorCode::kSlurmUnreachable;
}

// Returns the missing library if the dynamic linker could not load one. It prints, always in English: "…: error while
// loading shared libraries: libslurm.so.38: cannot open shared object file …". Then nothing of the program has run.
std::string library_that_is_gone(const std::string& printed) {
  constexpr std::string_view kWords = "error while loading shared libraries: ";
  const auto at = printed.find(kWords);
  if (at == std::string::npos) return {};
  const auto start = at + kWords.size();
  return printed.substr(start, printed.find(':', start) - start);
}

Error error_of_loss(const Question& question, const std::string& why, const std::string& printed) {
  const std::string gone = library_that_is_gone(printed);
  if (gone.empty()) return with_stderr({code_of_loss(question), why, {}, {}}, printed);
  return with_stderr({ErrorCode::kVersionMismatch,
                      "pounce-slurm was built for another Slurm than this machine's: " + gone + " cannot be loaded",
                      "Run pouncectl rebuild, which needs no root.",
                      {}},
                     printed);
}

}  // namespace

struct SlurmGateway::Impl {
  explicit Impl(GatewayOptions chosen) : options(std::move(chosen)) {}

  void ask(Question question, Finish finish);
  void send_front(TimePoint now);
  Result<void> ensure_helper();
  Result<Answer> answer_of(const std::string& record) const;
  void take(const std::string& record);
  void lose(const std::string& why, TimePoint now);
  void note_loss(TimePoint now);
  void finish_front(Result<std::any> answer);

  GatewayOptions options;
  std::unique_ptr<HelperProcess> helper;
  protocol::RecordReader reader{kRecordBytes};
  std::deque<Pending> queue;  // the front one is under way: the helper answers one request at a time
  std::uint64_t next_id = 1, helpers_started = 0;
  int losses = 0;        // since the last answer
  TimePoint not_before;  // start no helper earlier
};

void SlurmGateway::Impl::ask(Question question, Finish finish) {
  queue.push_back({{next_id++, std::move(question)}, std::move(finish), false, {}, {}});
  if (queue.size() == 1) send_front(Clock::now());
}

Result<void> SlurmGateway::Impl::ensure_helper() {
  if (helper) return {};
  auto environment = options.environment;
  // With plain libslurm a restart of slurmdbd ends the helper by a missing symbol (gotchas S1).
  if (const std::string full = full_library_for(options.program); !full.empty())
    environment.emplace("LD_PRELOAD", full);
  std::vector<std::string> command = {options.program};
  if (options.admin) command.push_back("--admin");
  auto started = HelperProcess::start(command, environment);
  if (!started) return failure(started.error());
  helper = std::move(*started);
  ++helpers_started;
  reader = protocol::RecordReader(kRecordBytes);
  return {};
}

// Requests are sent one at a time, so that a helper's death leaves at most one outcome unknown. If a helper cannot
// take the record, it had died before: nothing has happened yet, so another helper gets it.
void SlurmGateway::Impl::send_front(TimePoint now) {
  if (queue.empty() || queue.front().sent || queue.front().verdict || now < not_before) return;
  Pending& pending = queue.front();
  const std::string record = protocol::frame_record(encode(pending.request));
  std::string printed;
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
    printed = helper->take_stderr();
    helper.reset();
  }
  note_loss(now);
  pending.verdict = error_of_loss(pending.request.question, "pounce-slurm ended before it took the request", printed);
  pending.deadline = now;
}

void SlurmGateway::Impl::finish_front(Result<std::any> answer) {
  auto finish = std::move(queue.front().finish);
  queue.pop_front();
  finish(std::move(answer));
}

Result<Answer> SlurmGateway::Impl::answer_of(const std::string& record) const {
  const auto lie = failure(ErrorCode::kProtocol, "pounce-slurm answered something that was not asked");
  if (queue.empty() || !queue.front().sent) return lie;
  auto answer = decode_answer(record, queue.front().request.question);
  if (answer && answer->id != queue.front().request.id) return lie;
  return answer;
}

void SlurmGateway::Impl::take(const std::string& record) {
  auto answer = answer_of(record);
  if (!answer) return lose(answer.error().text, Clock::now());
  const std::string printed = helper->take_stderr();
  losses = 0;
  if (!answer->value)
    finish_front(failure(with_stderr(answer->value.error(), printed)));
  else
    finish_front(std::move(answer->value));
  send_front(Clock::now());
}

void SlurmGateway::Impl::note_loss(TimePoint now) {
  if (losses > 0) {
    const int doublings = std::min(losses - 1, 10);
    not_before = now + std::min<Duration>(kFirstPause * (1 << doublings), kLongestPause);
  }
  ++losses;
}

// Replaces a helper that died, answered wrongly or is too slow, and answers its current request with an error.
void SlurmGateway::Impl::lose(const std::string& why, TimePoint now) {
  const std::string printed = helper ? helper->take_stderr() : std::string();
  helper.reset();
  note_loss(now);
  if (!queue.empty() && queue.front().sent)
    finish_front(failure(error_of_loss(queue.front().request.question, why, printed)));
  send_front(now);
}

SlurmGateway::SlurmGateway(GatewayOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SlurmGateway::~SlurmGateway() = default;

void SlurmGateway::send(Question question, Reply<std::any> reply) { impl_->ask(std::move(question), std::move(reply)); }

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
