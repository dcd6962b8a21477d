// Who gets in at the port of the bulk lane, who does not, and what a stranger costs.
#include "tls/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tls/tcp_socket.h"
#include "unit/tls/two_ends.h"

namespace pounce::tls {
namespace {

using std::chrono::seconds;

// A program of somebody else's: its own OpenSSL, blocking, in the hands of one who may do anything with it.
struct Stranger {
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;

  explicit Stranger(const SSL_METHOD* method) : context(SSL_CTX_new(method)) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  }
  ~Stranger() {
    SSL_free(ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
  }
  SSL* on(int fd) {
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    return ssl;
  }
  void take_a_certificate() {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

struct ListenerTest : TwoEnds {
  std::vector<UniqueFd> sockets;

  int dial() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(listener->endpoint().substr(listener->endpoint().rfind(':') + 1))));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    sockets.push_back(std::move(fd));
    return sockets.back().get();
  }

  // All that comes back until the listener cuts; nothing: it did not, within two minutes.
  std::optional<std::string> answer_to(int fd) {
    std::string all;
    const bool cut = turn_until([&] {
      char bytes[4096];
      ssize_t got;
      while ((got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        all.append(bytes, static_cast<std::size_t>(got));
      return got == 0 || (errno != EAGAIN && errno != EINTR);
    });
    return cut ? std::optional(all) : std::nullopt;
  }

  // What a client of somebody else's program comes to, while the listener turns.
  int shake_hands(SSL* ssl) {
    std::atomic<int> result = -2;
    std::jthread thread([&] { result = SSL_connect(ssl) == 1 ? 1 : 0; });
    EXPECT_TRUE(turn_until([&] { return result != -2; }));
    return result;
  }

  bool refused(const Credential& with) {
    client = connect(with);
    return turn_until([&] { return !client_news.empty(); }) && client_news == std::vector{Link::kRefused} && !server;
  }

  bool still_serves() {
    client_news.clear();
    client = connect(credential);
    return turn_until([&] { return server && !client_news.empty(); }) && client_news.back() == Link::kConnected;
  }
};

// ---- who has no key -----------------------------------------------------------------------------------------------

TEST_F(ListenerTest, LetsInWhoHasTheAnnouncedKeyAndSaysWhoItIs) {
  open();

  EXPECT_EQ(server->peer(), credential.id);
}

TEST_F(ListenerTest, RefusesAWrongKeyUnderAnAnnouncedName) {
  listen();
  Credential wrong = make_credential();
  wrong.id = credential.id;

  EXPECT_TRUE(refused(wrong));
  EXPECT_TRUE(still_serves());
}

TEST_F(ListenerTest, RefusesANameThatWasNotAnnounced) {
  listen();

  EXPECT_TRUE(refused(make_credential()));
  EXPECT_TRUE(still_serves());
}

TEST_F(ListenerTest, RefusesANameThatWasForgotten) {
  listen();

  listener->forget(credential.id);

  EXPECT_TRUE(refused(credential));
}

TEST_F(ListenerTest, AKeyOpensOneConnection) {
  open();
  const auto first = std::move(server);
  const auto first_client = std::move(client);
  client_news.clear();

  EXPECT_TRUE(refused(credential));

  EXPECT_EQ(first->link_event(), std::nullopt) << "the first stands";
}

TEST_F(ListenerTest, TellsNothingToWhoSpeaksNoTls) {
  listen();
  for (const std::string& said : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4096, '\0'),
                                  std::string("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f", 10)}) {
    const int fd = dial();
    ASSERT_EQ(::send(fd, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    ::shutdown(fd, SHUT_WR);

    const auto answer = answer_to(fd);

    ASSERT_TRUE(answer);
    EXPECT_LE(answer->size(), 7u);  // at most an alert: a header of 5 bytes and 2 of its own
  }
  EXPECT_TRUE(still_serves());
}

TEST_F(ListenerTest, RefusesAClientThatHasOnlyACertificate) {
  listen();
  Stranger stranger(TLS_client_method());
  stranger.take_a_certificate();

  EXPECT_EQ(shake_hands(stranger.on(dial())), 0);
  EXPECT_FALSE(server);
  EXPECT_TRUE(still_serves());
}

TEST_F(ListenerTest, RefusesTls12) {
  listen();
  Stranger stranger(TLS_client_method());
  SSL_CTX_set_max_proto_version(stranger.context, TLS1_2_VERSION);
  SSL_CTX_set_security_level(stranger.context, 0);

  EXPECT_EQ(shake_hands(stranger.on(dial())), 0);
  EXPECT_FALSE(server);
}

thread_local const Credential* shown = nullptr;
thread_local std::uint8_t shown_cipher = 1;
int show(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size, SSL_SESSION** session) {
  const unsigned char cipher[] = {0x13, shown_cipher};
  *session = SSL_SESSION_new();
  SSL_SESSION_set1_master_key(*session, shown->key.bytes().data(), 32);
  SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, cipher));
  SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
  *name = shown->id.bytes().data(), *size = PeerId::kBytes;
  return 1;
}

// Who may come at all; what follows is how.
struct ListenerKeyTest : ListenerTest {
  int shake_hands_with_the_key(Stranger& stranger, std::uint8_t cipher = 1) {
    SSL_CTX_set_psk_use_session_callback(stranger.context, show);
    std::atomic<int> result = -2;
    SSL* const ssl = stranger.on(dial());
    std::jthread thread([&] {
      shown = &credential, shown_cipher = cipher;
      result = SSL_connect(ssl) == 1 ? 1 : 0;
    });
    EXPECT_TRUE(turn_until([&] { return result != -2; }));
    return result;
  }
};

TEST_F(ListenerKeyTest, AnotherImplementationGetsInWithoutATicket) {
  listen();
  Stranger stranger(TLS_client_method());

  ASSERT_EQ(shake_hands_with_the_key(stranger), 1);

  ASSERT_TRUE(turn_until([&] { return server != nullptr; }));
  EXPECT_STREQ(SSL_get_cipher(stranger.ssl), "TLS_AES_128_GCM_SHA256");
  const char hello[] = {1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'};
  ASSERT_EQ(SSL_write(stranger.ssl, hello, sizeof hello), static_cast<int>(sizeof hello));
  ASSERT_TRUE(turn_until([&] { return !server_got.empty(); }));
  EXPECT_EQ(server_got.front(), std::vector<std::string>{"hello"});
  Message message = message_of({"x"});
  ASSERT_EQ(server->send(message), Sent::kYes);
  char answer[32];
  ASSERT_EQ(SSL_read(stranger.ssl, answer, sizeof answer), 12);  // a ticket would have come before it
  EXPECT_EQ(SSL_read(stranger.ssl, answer, sizeof answer), 1);
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get0_session(stranger.ssl)), 0);
}

TEST_F(ListenerKeyTest, RefusesAnotherCipher) {
  listen();
  Stranger stranger(TLS_client_method());
  SSL_CTX_set_ciphersuites(stranger.context, "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");

  EXPECT_EQ(shake_hands_with_the_key(stranger, 3), 0);
  EXPECT_FALSE(server);
}

TEST_F(ListenerKeyTest, MakesAFreshExchangeAlsoForWhoWouldDoWithoutOne) {
  listen();
  Stranger stranger(TLS_client_method());
  SSL_CTX_set_options(stranger.context, SSL_OP_ALLOW_NO_DHE_KEX);

  ASSERT_EQ(shake_hands_with_the_key(stranger), 1);  // it offers both kinds

  ASSERT_TRUE(turn_until([&] { return server != nullptr; }));
  EXPECT_NE(SSL_get_negotiated_group(stranger.ssl), 0);  // and gets the one that is forward secret
}

// ---- who is no server ---------------------------------------------------------------------------------------------

TEST_F(ListenerTest, AnImitationWithACertificateIsRefusedByTheClient) {
  auto listening = listen_at("tcp://127.0.0.1:*");
  ASSERT_TRUE(listening);
  Stranger stranger(TLS_server_method());
  stranger.take_a_certificate();
  std::atomic<int> accepted = -2;
  std::jthread thread([&] {
    pollfd one{listening->fd.get(), POLLIN, 0};
    ::poll(&one, 1, 10'000);
    const UniqueFd fd(::accept(listening->fd.get(), nullptr, nullptr));
    accepted = SSL_accept(stranger.on(fd.get())) == 1 ? 1 : 0;
  });
  client = std::move(*Channel::connect(listening->endpoint, credential, options));

  ASSERT_TRUE(turn_until([&] { return !client_news.empty() && accepted != -2; }));

  EXPECT_EQ(client_news, std::vector{Link::kRefused});
  Message message = message_of({"for the right one"});
  EXPECT_EQ(client->send(message), Sent::kFull);
}

TEST_F(ListenerTest, AnImitationWithAnotherKeyIsRefusedByTheClient) {
  Credential wrong = make_credential();
  wrong.id = credential.id;
  auto bound = Listener::bind("tcp://127.0.0.1:*", options);
  ASSERT_TRUE(bound);
  listener = std::move(*bound);
  listener->announce(std::move(wrong));

  EXPECT_TRUE(refused(credential));
}

// ---- what a stranger costs ----------------------------------------------------------------------------------------

TEST_F(ListenerTest, KeepsFewConnectionsThatSayNothingTheNewestOnes) {
  listen(4);
  for (int i = 0; i < 40; ++i) dial();

  ASSERT_TRUE(turn_until([&] { return listener->newcomers() == 4; }));

  EXPECT_EQ(answer_to(sockets.front().get()), "");  // cut
  EXPECT_EQ(::recv(sockets.back().get(), &options, 1, MSG_DONTWAIT), -1);
  EXPECT_TRUE(still_serves());
}

TEST_F(ListenerTest, CutsAConnectionThatTakesTooLong) {
  options.handshake = std::chrono::milliseconds(1);
  listen();
  const int fd = dial();

  EXPECT_EQ(answer_to(fd), "");
  EXPECT_EQ(listener->newcomers(), 0u);
}

TEST_F(ListenerTest, CutsAStrangerWhoSendsMuchBeforeTheHandshakeIsOver) {
  listen();
  const int fd = dial();
  std::string much("\x16\x03\x01\x40\x00\x01\x01\xf0\x00", 9);  // a hello of 127 KiB begins
  much.append(16 * 1024, 'x');

  ::send(fd, much.data(), much.size(), MSG_NOSIGNAL);

  EXPECT_TRUE(answer_to(fd));
  EXPECT_EQ(listener->newcomers(), 0u);
  EXPECT_FALSE(server);
}

TEST_F(ListenerTest, NeverDisturbsWhoIsConnectedWhileACrowdComes) {
  open();
  const std::vector<std::string> frames{"header", pattern(kMiB, 1)};

  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 5; ++j) dial();
    Message message = message_of(frames);
    ASSERT_TRUE(send_until([&] { return client->send(message) == Sent::kYes; }));
  }

  EXPECT_TRUE(turn_until([&] { return server_got.size() == 20; }));
}

TEST_F(ListenerTest, TakesUpAgainWhenThereWereNoDescriptors) {
  listen();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  dial();
  const UniqueFd next(::dup(0));
  const rlimit none{static_cast<rlim_t>(next.get()), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);

  while (listener->accept()) {
  }
  EXPECT_EQ(listener->newcomers(), 0u);
  EXPECT_LT(listener->next_deadline(), Clock::now() + seconds(1));
  ::setrlimit(RLIMIT_NOFILE, &before);

  EXPECT_TRUE(turn_until([&] { return listener->newcomers() == 1; }));
}

TEST_F(ListenerTest, BindsOnePortOfARange) {
  auto first = Listener::bind("tcp://127.0.0.1:47000-47099", options),
       second = Listener::bind("tcp://127.0.0.1:47000-47099", options);

  ASSERT_TRUE(first && second);
  EXPECT_NE((*first)->endpoint(), (*second)->endpoint());
  EXPECT_TRUE((*first)->endpoint().starts_with("tcp://127.0.0.1:470"));
  EXPECT_FALSE(Listener::bind((*first)->endpoint(), options));
}

}  // namespace
}  // namespace pounce::tls
