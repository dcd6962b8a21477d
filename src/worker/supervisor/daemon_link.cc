#include "worker/supervisor/daemon_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/threads.h"
#include "base/trusted_path.h"
#include "identity/proof.h"
#include "protocol/state_files.h"

namespace pounce::worker {

ProofMaker::ProofMaker(transport::EventLoop& loop) : loop_(loop), made_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  watch_ = loop_.watch_fd(made_.get(), [this] { collect(); });
}

ProofMaker::~ProofMaker() { loop_.unwatch(watch_); }

void ProofMaker::start(Make make, Done done) {
  if (helper_.joinable()) helper_.join();
  eventfd_t void_now;
  ::eventfd_read(made_.get(), &void_now);
  done_ = std::move(done);
  helper_ = std::jthread([this, make = std::move(make)] {
    name_thread("pounce-proof");
    result_ = make();
    ::eventfd_write(made_.get(), 1);
  });
}

void ProofMaker::collect() {
  eventfd_t count;
  if (::eventfd_read(made_.get(), &count) != 0) return;
  helper_.join();
  if (done_) std::exchange(done_, nullptr)(std::move(result_));
}

namespace {

constexpr std::size_t kMostBytes = 64 * 1024;

}  // namespace

Successor::Successor(const SupervisorOptions& options)
    : endpoint_file_(options.endpoint_file), munge_socket_(options.munge_socket) {
  if (options.proof != protocol::Proof::kKeyFile) return;
  if (auto key = identity::read_key_file(options.key_file)) key_ = std::move(*key);
}

Result<std::string> Successor::find() {
  if (endpoint_file_.empty())
    return failure(ErrorCode::kDaemonUnavailable, "pounced keeps its state on a disk of its own");
  auto text = read_trusted_file(endpoint_file_, kMostBytes);
  if (!text) return text;
  const auto [statement, seal] = protocol::lines_of(*text);
  if (*text != believed_)
    if (const auto checked = check_seal(statement, seal); !checked) return failure(checked.error());
  believed_ = *text;
  return std::string(statement);
}

Result<void> Successor::check_seal(std::string_view statement, std::string_view seal) const {
  if (!key_) return identity::verify_munge_seal(statement, seal, munge_socket_, ::geteuid());
  if (identity::is_key_seal(statement, seal, *key_)) return {};
  return failure(ErrorCode::kNotAuthenticated, endpoint_file_ + " is not sealed with this instance's key");
}

namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 3s;   // limit for a welcome, and for the control channel
constexpr int kSilentBeats = 4;  // missed heartbeats of the daemon before the line counts as lost
constexpr std::size_t kUnsentMessages = 64;

control::Manner manner(const SupervisorOptions& options) {
  control::Manner manner{.reach = control::Reach::kNetwork, .hello = {}, .patience = {kPatience, kSilentBeats}};
  manner.hello.role = protocol::Role::kWorker;
  manner.hello.lease = options.lease.hex();
  manner.heartbeat = options.heartbeat;
  manner.unsent = kUnsentMessages;
  return manner;
}

ProofMaker::Make proof_for(const control::DaemonAddress& daemon, const PublicKey& own, const LeaseId& lease) {
  const identity::Claim claim{daemon.key, own, "worker", lease.hex()};
  if (daemon.proof == protocol::Proof::kMunge)
    return [claim, socket = daemon.munge_socket] { return identity::munge_proof(claim, socket, ::geteuid()); };
  return [claim, path = daemon.key_file] { return identity::key_file_proof(claim, path); };
}

bool is_worth_a_line(int failures) { return failures <= 3 || failures % 60 == 0; }

}  // namespace

DaemonLink::DaemonLink(transport::EventLoop& loop, const SupervisorOptions& options, Callbacks callbacks)
    : loop_(loop),
      options_(options),
      callbacks_(std::move(callbacks)),
      keys_(identity::make_key_pair()),
      successor_(options),
      proofs_(loop),
      connection_(context_, keys_, manner(options)) {}

DaemonLink::~DaemonLink() {
  for (const auto watch : {messages_, links_, due_, retry_}) loop_.unwatch(watch);
}

void DaemonLink::open() {
  connect({options_.daemon_key, options_.handshake, options_.proof, options_.munge_socket, options_.key_file});
}

void DaemonLink::connect(control::DaemonAddress address) {
  connection_.connect(address, Clock::now());
  proofs_.start(proof_for(address, keys_.public_key, options_.lease), [this](Result<std::string> proof) {
    connection_.proved(proof, Clock::now());
    service();
  });
  wait_for_change();
}

void DaemonLink::send(const protocol::Header& header) {
  connection_.send(header, Clock::now());
  wait_for_change();
}

void DaemonLink::service() {
  for (const control::Event& event : connection_.pump(Clock::now())) took_place(event);
  wait_for_change();
}

void DaemonLink::took_place(const control::Event& event) {
  std::visit(Overloaded{[&](const control::Opened&) {
                          failures_ = 0;
                          callbacks_.connected();
                        },
                        [&](const protocol::Header& header) { callbacks_.message(header); },
                        [&](const control::Lost& lost) { try_later(lost.error.text); },
                        [&](const control::Refused& refused) { try_later(refused.error.text); },
                        [](const control::Unreadable& unknown) {
                          spdlog::warn("pounced said something unknown: {}", unknown.error.text);
                        }},
             event);
}

void DaemonLink::try_later(const std::string& why) {
  ++failures_;
  if (is_worth_a_line(failures_)) spdlog::warn("no line to pounced: {}", why);
  loop_.unwatch(retry_);
  retry_ = loop_.at(Clock::now() + control::pause_after(failures_), [this] { try_again(); });
}

void DaemonLink::try_again() {
  proofs_.start([this] { return successor_.find(); },
                [this](const Result<std::string>& found) { try_again_with(found); });
}

// An endpoint file that is unreadable, half-written or not trusted is ignored: the known address stays, and the next
// attempt reads the file again.
void DaemonLink::try_again_with(const Result<std::string>& statement) {
  if (!statement && is_worth_a_line(failures_))
    spdlog::warn("no other pounced is believed: {}", statement.error().text);
  const auto file = statement ? protocol::decode_endpoint_file(*statement) : failure(statement.error());
  const auto address = file ? control::address_of(*file, control::Reach::kNetwork) : std::nullopt;
  connect(address.value_or(connection_.address()));
}

// Watches the current socket and the next deadline. After a send the descriptors may be stale, so service() runs at
// once.
void DaemonLink::wait_for_change() {
  if (watched_ != connection_.socket()) {
    watched_ = connection_.socket();
    loop_.unwatch(messages_);
    loop_.unwatch(links_);
    if (watched_ != 0) {
      messages_ = loop_.watch_fd(connection_.descriptors().socket, [this] { service(); });
      links_ = loop_.watch_fd(connection_.descriptors().monitor, [this] { service(); });
    }
  }
  loop_.unwatch(due_);
  const TimePoint due = connection_.descriptors().stale ? Clock::now() : connection_.next_deadline();
  if (due != TimePoint::max()) due_ = loop_.at(due, [this] { service(); });
}

}  // namespace pounce::worker
