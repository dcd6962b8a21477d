#include "transport/zmq_context.h"

#include <zmq.h>

#include <map>

#include "transport/zmq_parts.h"

namespace pounce::transport {

std::string library_version() {
  int major = 0, minor = 0, patch = 0;
  ::zmq_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

namespace {

constexpr char kZapEndpoint[] = "inproc://zeromq.zap.01";

}  // namespace

std::string to_z85(const PublicKey& key) {
  char text[41];
  zmq_z85_encode(text, key.bytes.data(), key.bytes.size());
  return text;
}

std::optional<PublicKey> from_z85(std::string_view text) {
  PublicKey key;
  if (text.size() != 40) return std::nullopt;
  if (zmq_z85_decode(key.bytes.data(), std::string(text).c_str()) == nullptr) return std::nullopt;
  return key;
}

struct Context::Impl {
  explicit Impl(int io_threads) : context(io_threads), zap(context, zmq::socket_type::router) {
    zap.set(zmq::sockopt::linger, 0);
    zap.bind(kZapEndpoint);
  }

  bool answer(const Message& request, std::string& user_id);

  zmq::context_t context;  // first: dies last
  zmq::socket_t zap;
  std::map<std::string, ZapAnswer> domains;
};

// RFC 27 frames after the routing envelope: version, request id, domain, address, identity, mechanism, credentials.
bool Context::Impl::answer(const Message& request, std::string& user_id) {
  constexpr std::size_t kDomain = 4, kAddress = 5, kMechanism = 7, kKey = 8;
  if (request.size() != 9 || request[kMechanism].text() != "CURVE" || request[kKey].size() != 32) return false;
  ZapQuestion question;
  question.domain = request[kDomain].text();
  question.address = request[kAddress].text();
  question.uid = uid_of(question.address);
  const auto key = request[kKey].bytes();
  for (std::size_t i = 0; i < key.size(); ++i) question.key.bytes[i] = static_cast<std::uint8_t>(key[i]);
  user_id = to_z85(question.key);
  const auto domain = domains.find(question.domain);
  return domain != domains.end() && domain->second(question);
}

Context::Context(int io_threads) : impl_(std::make_unique<Impl>(io_threads)) {}

Context::~Context() = default;

void Context::admit(const std::string& domain, ZapAnswer answer) { impl_->domains[domain] = std::move(answer); }

void* Context::zap_handle() { return impl_->zap.handle(); }

void Context::service_zap() {
  while (auto request = receive_message(impl_->zap)) {
    if (request->size() < 4) continue;  // not ZAP: only libzmq's own sockets can be at the other end
    std::string user_id;
    const bool admitted = impl_->answer(*request, user_id);
    Message reply;
    reply.push_back(std::move((*request)[0]));  // route
    reply.push_back(Frame::copy(""));
    reply.push_back(Frame::copy("1.0"));
    reply.push_back(std::move((*request)[3]));  // request id
    reply.push_back(Frame::copy(admitted ? "200" : "400"));
    reply.push_back(Frame::copy(admitted ? "OK" : "no"));
    reply.push_back(Frame::copy(admitted ? user_id : ""));
    reply.push_back(Frame::copy(""));
    send_message(impl_->zap, nullptr, reply);
  }
}

void Context::abandon_after_fork() {
  // The I/O threads are the parent's: closing anything here would wait for them forever. Leaked on purpose.
  static_cast<void>(impl_.release());
}

zmq::context_t& zmq_context(Context& context) { return context.impl().context; }

}  // namespace pounce::transport
