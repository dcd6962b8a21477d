#include "tls/stream.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "tls/tcp_socket.h"

namespace pounce::tls {
namespace {

constexpr std::size_t kRecord = 16 * 1024, kRecordAdds = 22;  // header 5, type 1, tag 16 (RFC 8446, 5.2)
constexpr std::size_t kGathered = 16 * (kRecord + kRecordAdds);
constexpr unsigned char kCipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, Freed<SSL_SESSION_free>>;

std::string last_words() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? "the connection was closed" : reason;
}

// ---- between OpenSSL and the socket -------------------------------------------------------------------------------

SocketBytes& bytes_of(BIO* bio) { return *static_cast<SocketBytes*>(BIO_get_data(bio)); }

int gather(BIO* bio, const char* bytes, int size) {
  bytes_of(bio).gather({bytes, static_cast<std::size_t>(size)});
  return size;
}

int receive(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  std::size_t count = 0;
  switch (bytes_of(bio).receive({into, static_cast<std::size_t>(size)}, count)) {
    case SocketBytes::Result::kDone:
      return static_cast<int>(count);
    case SocketBytes::Result::kLater:
      BIO_set_retry_read(bio);
      return -1;
    case SocketBytes::Result::kEnd:
      return 0;
  }
  return 0;
}

long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* new_bio(SocketBytes& bytes) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pounce");
    BIO_meth_set_write(made, gather);
    BIO_meth_set_read(made, receive);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  BIO_set_data(bio, &bytes);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

// ---- one connection -----------------------------------------------------------------------------------------------

struct Stream::Impl {
  Impl(UniqueFd socket, SSL_CTX* context) : bytes(std::move(socket)), ssl(SSL_new(context)) {
    POUNCE_CHECK(ssl != nullptr, "OpenSSL has memory for a connection");
    BIO* const bio = new_bio(bytes);
    SSL_set_bio(ssl.get(), bio, bio);
    SSL_set_app_data(ssl.get(), this);
  }

  void settle(int result);
  void open();
  void end(State how, std::string words);
  Session session_of(const SecretKey& key) const;

  SocketBytes bytes;
  std::unique_ptr<SSL, Freed<SSL_free>> ssl;
  KeyOf key_of;       // a server's
  SecretKey own_key;  // a client's, until the handshake is done
  PeerId peer;
  State state = State::kHandshake;
  std::string why;
};

// A pre-shared key as OpenSSL takes it: as a session that never existed. OpenSSL copies the bytes and wipes its copy.
Session Stream::Impl::session_of(const SecretKey& key) const {
  Session session(SSL_SESSION_new());
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl.get(), kCipher);
  const bool made = session && cipher != nullptr &&
                    SSL_SESSION_set1_master_key(session.get(), key.bytes().data(), key.bytes().size()) == 1 &&
                    SSL_SESSION_set_cipher(session.get(), cipher) == 1 &&
                    SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) == 1;
  return made ? std::move(session) : nullptr;
}

void Stream::Impl::end(State how, std::string words) {
  bytes.send();  // an alert that says why, if it fits into the socket
  bytes.close();
  state = how;
  why = std::move(words);
  key_of = nullptr;
}

// Handles the error of a failed OpenSSL call.
void Stream::Impl::settle(int result) {
  const int what = SSL_get_error(ssl.get(), result);
  if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) return;
  const bool said = what == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING;
  end(state == State::kHandshake && said ? State::kRefused : State::kLost, last_words());
}

// A peer with a certificate could have come this far without proof: require that it used the key.
void Stream::Impl::open() {
  if (SSL_session_reused(ssl.get()) != 1 || SSL_version(ssl.get()) != TLS1_3_VERSION || peer.empty())
    return end(State::kRefused, "the other end did not prove that it has the key");
  state = State::kOpen;
  own_key = SecretKey();
  key_of = nullptr;
  bytes.trust();
}

namespace {

int key_for_server(SSL* ssl, const unsigned char* name, std::size_t size, SSL_SESSION** session) {
  *session = nullptr;
  auto& impl = *static_cast<Stream::Impl*>(SSL_get_app_data(ssl));
  std::array<std::uint8_t, PeerId::kBytes> bytes;
  if (size != bytes.size()) return 1;  // unknown name: the handshake fails, as there is no other method
  std::memcpy(bytes.data(), name, size);
  const SecretKey* const key = impl.key_of ? impl.key_of(PeerId(bytes)) : nullptr;
  if (key == nullptr) return 1;
  impl.peer = PeerId(bytes);
  *session = impl.session_of(*key).release();
  return *session != nullptr ? 1 : 0;
}

int key_for_client(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size, SSL_SESSION** session) {
  auto& impl = *static_cast<Stream::Impl*>(SSL_get_app_data(ssl));
  *name = impl.peer.bytes().data();
  *size = PeerId::kBytes;
  *session = impl.session_of(impl.own_key).release();
  return *session != nullptr ? 1 : 0;
}

int never(int, X509_STORE_CTX*) { return 0; }

// Overrides the machine's openssl.cnf: every setting that matters is made after it.
Context new_context(const SSL_METHOD* method) {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);  // a thread may still send when main() has returned
  Context context(SSL_CTX_new(method));
  POUNCE_CHECK(context, "OpenSSL makes a context");
  SSL_CTX* const made = context.get();
  const bool set =
      SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256") == 1 && SSL_CTX_set_num_tickets(made, 0) == 1 &&
      // FIPS has no X25519.
      (SSL_CTX_set1_groups_list(made, "X25519:P-256") == 1 || SSL_CTX_set1_groups_list(made, "P-256") == 1);
  POUNCE_CHECK(set, "this OpenSSL knows TLS 1.3");
  SSL_CTX_clear_options(made, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_options(made, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_ANTI_REPLAY);
  SSL_CTX_set_max_early_data(made, 0);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_quiet_shutdown(made, 1);
  return context;
}

// Never freed: a thread may still send when main() has returned.
SSL_CTX* server_context() {
  static SSL_CTX* const context = [] {
    Context made = new_context(TLS_server_method());
    SSL_CTX_set_psk_find_session_callback(made.get(), key_for_server);
    return made.release();
  }();
  return context;
}

SSL_CTX* client_context() {
  static SSL_CTX* const context = [] {
    Context made = new_context(TLS_client_method());
    SSL_CTX_set_psk_use_session_callback(made.get(), key_for_client);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, never);  // reject a server that offers a certificate instead
    return made.release();
  }();
  return context;
}

}  // namespace

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::~Stream() = default;

bool Stream::available() { return true; }

std::unique_ptr<Stream> Stream::client(UniqueFd socket, const Credential& own) {
  auto impl = std::make_unique<Impl>(std::move(socket), client_context());
  impl->own_key.bytes() = own.key.bytes();
  impl->peer = own.id;
  SSL_set_connect_state(impl->ssl.get());
  return std::unique_ptr<Stream>(new Stream(std::move(impl)));
}

std::unique_ptr<Stream> Stream::server(UniqueFd socket, KeyOf key_of) {
  auto impl = std::make_unique<Impl>(std::move(socket), server_context());
  impl->key_of = std::move(key_of);
  SSL_set_accept_state(impl->ssl.get());
  return std::unique_ptr<Stream>(new Stream(std::move(impl)));
}

Stream::State Stream::state() const { return impl_->state; }
const std::string& Stream::why() const { return impl_->why; }
int Stream::fd() const { return impl_->bytes.fd(); }
const PeerId& Stream::peer() const { return impl_->peer; }
bool Stream::unsent() const { return impl_->bytes.unsent(); }
std::uint64_t Stream::came() const { return impl_->bytes.came(); }
std::uint64_t Stream::went() const { return impl_->bytes.went(); }
void Stream::close(std::string why) { impl_->end(State::kLost, std::move(why)); }

void Stream::shake_hands() {
  if (impl_->state != State::kHandshake) return;
  ERR_clear_error();
  const int result = SSL_do_handshake(impl_->ssl.get());
  if (result == 1)
    impl_->open();
  else
    impl_->settle(result);
  send_out();
}

std::size_t Stream::read(std::span<std::byte> into) {
  std::size_t count = 0;
  if (impl_->state != State::kOpen) return 0;
  ERR_clear_error();
  const int result = SSL_read_ex(impl_->ssl.get(), into.data(), into.size(), &count);
  if (result != 1) impl_->settle(result);
  return result == 1 ? count : 0;
}

std::size_t Stream::write(std::span<const std::byte> from) {
  const std::size_t records = (kGathered - std::min(kGathered, impl_->bytes.gathered())) / (kRecord + kRecordAdds);
  if (impl_->state != State::kOpen || records == 0 || from.empty()) return 0;
  std::size_t count = 0;
  ERR_clear_error();
  const int result = SSL_write_ex(impl_->ssl.get(), from.data(), std::min(from.size(), records * kRecord), &count);
  if (result != 1) impl_->settle(result);
  return result == 1 ? count : 0;
}

void Stream::send_out() {
  if (impl_->bytes.fd() >= 0 && impl_->bytes.send() == SocketBytes::Result::kEnd)
    impl_->end(State::kLost, "the connection was cut");
}

void Stream::change_key() {
  if (impl_->state == State::kOpen) SSL_key_update(impl_->ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
}

std::string library_version() { return ::OpenSSL_version(OPENSSL_VERSION_STRING); }

}  // namespace pounce::tls
