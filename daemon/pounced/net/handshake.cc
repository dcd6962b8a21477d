#include "pounced/net/handshake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/unique_fd.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce::daemon {
namespace {

using protocol::Hello;
using protocol::Proof;
using protocol::Role;

Error refusal(ErrorCode code, std::string text) { return {code, std::move(text), {}, {}}; }

std::optional<Peer> peer_of(const Hello& hello, const PublicKey& key) {
  Peer peer;
  peer.role = hello.role;
  peer.key = key;
  const auto session = SessionId::from_hex(hello.session);
  const auto lease = LeaseId::from_hex(hello.lease);
  if (hello.role == Role::kClient ? !session || session->empty() : !lease || lease->empty()) return std::nullopt;
  if (hello.role == Role::kClient)
    peer.session = *session;
  else
    peer.lease = *lease;
  return peer;
}

}  // namespace

Verdict Authenticator::judge(const Handshake& handshake, TimePoint now) {
  if (handshake.frames.size() != 2) return refusal(ErrorCode::kProtocol, "a hello has two frames");
  std::size_t size = 0;
  for (const std::string_view frame : handshake.frames) size += frame.size();
  if (size > protocol::kHandshakeMessageBytes) return refusal(ErrorCode::kTooLarge, "a hello has at most 8 KiB");
  if (!tokens_.take(now))
    return refusal(ErrorCode::kDaemonUnavailable, "too many hellos at once: try again in a second");
  const auto header = protocol::decode(handshake.frames[0], protocol::kHandshakeMessageBytes);
  if (!header) return header.error();
  const auto* hello = std::get_if<Hello>(&*header);
  if (hello == nullptr)
    return refusal(ErrorCode::kProtocol, "the handshake endpoint understands hello and nothing else");
  return judge_hello(handshake, *hello);
}

Verdict Authenticator::judge_hello(const Handshake& handshake, const Hello& hello) {
  if (transport::from_z85(hello.key) != handshake.peer)
    return refusal(ErrorCode::kNotAuthenticated, "the key in the hello is not the key of the connection");
  auto peer = peer_of(hello, handshake.peer);
  if (!peer) return refusal(ErrorCode::kProtocol, "a client names its session, a worker its lease");
  if (hello.proof == Proof::kPeer) {
    if (handshake.uid != uid_) return refusal(ErrorCode::kNotAuthenticated, "the kernel does not vouch for this peer");
    return *peer;
  }
  if (hello.proof != proof_) return refusal(ErrorCode::kNotAuthenticated, "this daemon asks for another kind of proof");
  const bool client = hello.role == Role::kClient;
  identity::Claim claim{own_, handshake.peer, client ? "client" : "worker", client ? hello.session : hello.lease};
  return ProofToCheck{std::move(*peer), std::move(claim), std::string(handshake.frames[1])};
}

namespace {

struct Question {
  identity::Claim claim;
  std::string proof;
  ProofChecker::Done done;
};

struct Answer {
  ProofChecker::Done done;
  Result<void> outcome;
};

// Hands questions to the thread and answers back. Bounded by kMostWaiting, since every question becomes one answer.
class Counter {
 public:
  bool ask(Question question) {
    const std::lock_guard lock(mutex_);
    if (questions_.size() + answers_.size() >= ProofChecker::kMostWaiting) return false;
    questions_.push_back(std::move(question));
    changed_.notify_one();
    return true;
  }

  std::optional<Question> next_question(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !questions_.empty(); });
    if (stop.stop_requested()) return std::nullopt;
    Question question = std::move(questions_.front());
    questions_.pop_front();
    return question;
  }

  void answer(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }

  std::deque<Answer> take_answers() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Question> questions_;
  std::deque<Answer> answers_;
};

}  // namespace

struct ProofChecker::Impl {
  explicit Impl(Verify verify) : verify(std::move(verify)), bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void work(std::stop_token stop) {
    name_thread("pounced-proof");
    while (auto question = counter.next_question(stop)) {
      auto outcome = verify(question->claim, question->proof);
      counter.answer({std::move(question->done), std::move(outcome)});
      ::eventfd_write(bell.get(), 1);
    }
  }

  const Verify verify;
  const UniqueFd bell;
  Counter counter;
  std::jthread thread;  // last: it uses all of the above until it is joined
};

ProofChecker::ProofChecker(Verify verify) : impl_(std::make_unique<Impl>(std::move(verify))) {
  impl_->thread = std::jthread([impl = impl_.get()](std::stop_token stop) { impl->work(stop); });
}

ProofChecker::~ProofChecker() = default;

bool ProofChecker::check(identity::Claim claim, std::string proof, Done done) {
  return impl_->counter.ask({std::move(claim), std::move(proof), std::move(done)});
}

int ProofChecker::fd() const { return impl_->bell.get(); }

void ProofChecker::on_readable() {
  eventfd_t count = 0;
  ::eventfd_read(impl_->bell.get(), &count);
  for (Answer& answer : impl_->counter.take_answers()) answer.done(std::move(answer.outcome));
}

namespace {

constexpr std::size_t kShown = 200;  // bytes of an untrusted peer's text in the log
constexpr int kHighWaterMark = 64;   // a peer has at most one HELLO under way

}  // namespace

Result<std::unique_ptr<HandshakeEndpoint>> HandshakeEndpoint::open(transport::EventLoop& loop,
                                                                   transport::Context& context, const KeyPair& keys,
                                                                   HandshakeEndpointPlan plan,
                                                                   Authenticator authenticator, Peers& peers,
                                                                   ProofChecker& checker) {
  std::unique_ptr<HandshakeEndpoint> self(new HandshakeEndpoint(loop, std::move(plan), authenticator, peers, checker));
  // The kernel names the peer's user. Other users, root too, are refused. The listener connects as this user.
  context.admit(kDomain,
                [uid = self->plan_.uid](const transport::ZapQuestion& question) { return question.uid == uid; });
  for (auto [entrance, endpoint] :
       {std::pair(&self->local_, &self->plan_.local), std::pair(&self->remote_, &self->plan_.remote)})
    if (const auto opened = self->open(*entrance, *endpoint, context, keys); !opened) return failure(opened.error());
  return self;
}

HandshakeEndpoint::~HandshakeEndpoint() {
  loop_.unwatch(local_.watch);
  loop_.unwatch(remote_.watch);
}

Result<void> HandshakeEndpoint::open(Entrance& entrance, const std::string& endpoint, transport::Context& context,
                                     const KeyPair& keys) {
  transport::ServerOptions options;
  options.zap_domain = kDomain;
  options.max_frame_bytes = protocol::kHandshakeMessageBytes;
  options.high_water_mark = kHighWaterMark;
  auto socket = transport::RouterSocket::bind(context, keys, options, {endpoint});
  if (!socket) return failure(socket.error());
  entrance.socket = std::move(*socket);
  entrance.watch = loop_.watch_socket(entrance.socket->handle(), [this, &entrance] { drain(entrance); });
  return {};
}

void HandshakeEndpoint::drain(Entrance& entrance) {
  constexpr int kMostPerTurn = 64;  // the control channel needs its turn
  for (int i = 0; i < kMostPerTurn; ++i) {
    const auto received = entrance.socket->receive();
    if (!received) return;
    hear(entrance, *received);
  }
}

void HandshakeEndpoint::hear(Entrance& entrance, const transport::Received& received) {
  Handshake handshake{received.peer, entrance.local ? received.uid : std::nullopt, {}};
  for (const transport::Frame& frame : received.frames) handshake.frames.push_back(frame.text());
  const Caller caller{entrance, received.route};
  Verdict verdict = authenticator_.judge(handshake, Clock::now());
  std::visit(Overloaded{[&](const Error& error) { refuse(caller, error); },
                        [&](Peer& peer) { welcome(caller, std::move(peer)); },
                        [&](ProofToCheck& question) { check(caller, std::move(question)); }},
             verdict);
}

void HandshakeEndpoint::check(const Caller& caller, ProofToCheck question) {
  auto done = [this, caller, peer = std::move(question.peer)](const Result<void>& outcome) {
    if (outcome)
      welcome(caller, peer);
    else
      refuse(caller, outcome.error());
  };
  if (!checker_.check(std::move(question.claim), std::move(question.proof), std::move(done)))
    refuse(caller, {ErrorCode::kDaemonUnavailable, "too many hellos wait: try again in a second", {}, {}});
}

void HandshakeEndpoint::welcome(const Caller& caller, Peer peer) {
  const std::string who = peer.role == protocol::Role::kClient ? "client session=" + peer.session.hex()
                                                               : "worker lease=" + peer.lease.hex();
  if (!peers_.admit(std::move(peer), Clock::now()))
    return refuse(caller,
                  {ErrorCode::kDaemonUnavailable, "this daemon serves all the clients and workers it can", {}, {}});
  spdlog::info("admitted {}", who);
  protocol::Welcome answer;
  for (const std::string& endpoint : plan_.control_endpoints)
    if (caller.entrance.local || !endpoint.starts_with("ipc://")) answer.control.push_back(endpoint);
  answer.instance = plan_.instance.hex();
  answer.heartbeat_ms = plan_.heartbeat_ms;
  send(caller, answer);
}

void HandshakeEndpoint::refuse(const Caller& caller, const Error& error) {
  if (lines_.take(Clock::now()))
    spdlog::warn("refused a hello ({} more since the last line): {}", std::exchange(unsaid_, 0),
                 printable(error.text, kShown));
  else
    ++unsaid_;
  send(caller, protocol::Refused{error});
}

void HandshakeEndpoint::send(const Caller& caller, const protocol::Header& header) {
  transport::Message message;
  message.push_back(transport::Frame::copy(protocol::encode(header)));
  if (caller.entrance.socket->send(caller.route, message) != transport::Sent::kYes)
    spdlog::debug("the one who said hello is gone");
}

}  // namespace pounce::daemon
