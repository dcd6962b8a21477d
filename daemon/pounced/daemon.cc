#include "pounced/daemon.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/network.h"
#include "identity/proof.h"
#include "pounce/version.h"
#include "pounced/net/endpoint.h"

namespace pounce::daemon {
namespace {

const std::string kIpc = "ipc://";
constexpr int kInLine = 256;  // the kernel's queue of connections that wait to be accepted

ProofChecker::Verify verifier(const protocol::EndpointFile& endpoint) {
  if (endpoint.proof == "munge")
    return [socket = endpoint.munge_socket](const identity::Claim& claim, const std::string& proof) {
      return identity::verify_munge_proof(claim, proof, socket, ::geteuid());
    };
  return [path = endpoint.key_file](const identity::Claim& claim, const std::string& proof) {
    return identity::verify_key_file_proof(claim, proof, path);
  };
}

std::size_t descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

}  // namespace

Daemon::Daemon(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts)
    : loop_(loop), setup_(setup), facts_(std::move(facts)), keys_(identity::make_key_pair()) {}

Result<std::unique_ptr<Daemon>> Daemon::open(transport::EventLoop& loop, const Setup& setup, ClusterFacts facts,
                                             launch::Launcher& launcher) {
  std::unique_ptr<Daemon> self(new Daemon(loop, setup, facts));
  self->choose_proof();
  if (self->endpoint_.proof == "key_file")
    if (const auto made = identity::make_key_file(setup.folders.key_file()); !made) return failure(made.error());
  auto service = Service::open(loop, setup, std::move(facts), launcher);
  if (!service) return failure(service.error());
  self->service_ = std::move(*service);
  if (const auto opened = self->open_sockets(); !opened) return failure(opened.error());
  self->describe();
  self->service_->connect(
      {self->endpoint_,
       [self = self.get()](const auto& route, const auto& frame) { return self->control_->send(route, frame); },
       [self = self.get()] { return self->listener_rows(); }});
  return self;
}

// Shutdown order: clients no longer find us, peers no longer connect, messages are no longer read, then the rest
// ends. Leases are not touched: their workers wait for the next daemon.
Daemon::~Daemon() {
  withdraw_endpoint(setup_.folders.endpoint(), endpoint_);  // 1. clients no longer find us
  listeners_.clear();                                       // 2. no new peer
  handshake_.reset();
  if (checker_) loop_.unwatch(proof_watch_);
  checker_.reset();  // 3. the proof thread
  control_.reset();  // 4. no more messages; every peer notices
  loop_.unwatch(zap_watch_);
  service_.reset();  // 5. the core and its handlers; the files stay
  context_.reset();  // 6. ZeroMQ's thread
}

void Daemon::choose_proof() {
  const bool munge = setup_.launcher == LauncherKind::kSlurm && facts_.auth_type == "auth/munge" &&
                     identity::munge_available(facts_.munge_socket);
  endpoint_.proof = munge ? "munge" : "key_file";
  endpoint_.munge_socket = munge ? facts_.munge_socket : "";
  endpoint_.key_file = munge ? "" : setup_.folders.key_file();
  spdlog::info("proof={} launcher={} cluster={} slurm={}", endpoint_.proof, word(setup_.launcher), setup_.scope.cluster,
               facts_.version);
}

// One address, never all interfaces: the handshake endpoint listens only where peers are expected.
Result<std::string> Daemon::address() const {
  if (setup_.launcher == LauncherKind::kLocal && setup_.config.local_nodes.empty()) return std::string("127.0.0.1");
  if (!setup_.config.advertise_address.empty()) return setup_.config.advertise_address;
  if (!service_->policy().now().interface.empty()) return address_of_interface(service_->policy().now().interface);
  return address_facing(facts_.controller_address);
}

Result<void> Daemon::open_sockets() {
  const std::string runtime = setup_.folders.runtime;
  const std::string handshake = runtime + "/handshake", control = runtime + "/control";
  // These two are behind the listeners.
  const std::string handshake_inside = runtime + "/hs_tcp", control_inside = runtime + "/ctl_tcp";
  // A previous instance that died may have left its sockets.
  for (const std::string& path : {handshake, control, handshake_inside, control_inside}) ::unlink(path.c_str());
  context_ = std::make_unique<transport::Context>();
  zap_watch_ = loop_.watch_socket(context_->zap_handle(), [this] { context_->service_zap(); });
  checker_ = std::make_unique<ProofChecker>(verifier(endpoint_));
  proof_watch_ = loop_.watch_fd(checker_->fd(), [this] { checker_->on_readable(); });
  auto socket = ControlSocket::open(loop_, *context_, keys_, {kIpc + control, kIpc + control_inside}, ::geteuid(),
                                    service_->peers(), service_->control());
  if (!socket) return failure(socket.error());
  control_ = std::move(*socket);
  const std::size_t descriptors = descriptor_limit();
  const auto control_tcp = listen("control", control_bounds(descriptors), control_inside);
  if (!control_tcp) return failure(control_tcp.error());
  const auto proof = endpoint_.proof == "munge" ? protocol::Proof::kMunge : protocol::Proof::kKeyFile;
  HandshakeEndpointPlan plan{kIpc + handshake,
                             kIpc + handshake_inside,
                             {kIpc + control, *control_tcp},
                             setup_.instance,
                             static_cast<std::uint32_t>(setup_.config.times.heartbeat.count()),
                             ::geteuid()};
  auto opened =
      HandshakeEndpoint::open(loop_, *context_, keys_, std::move(plan),
                              Authenticator(keys_.public_key, proof, ::geteuid()), service_->peers(), *checker_);
  if (!opened) return failure(opened.error());
  handshake_ = std::move(*opened);
  const auto handshake_tcp = listen("handshake", handshake_bounds(descriptors), handshake_inside);
  if (!handshake_tcp) return failure(handshake_tcp.error());
  endpoint_.handshake = {kIpc + handshake, *handshake_tcp};
  return {};
}

// Returns the listener's endpoint.
Result<std::string> Daemon::listen(const std::string& name, ListenerBounds bounds, const std::string& inside) {
  const auto host = address();
  if (!host) return failure(host.error());
  auto socket = listen_at(*host, service_->policy().now().ports, kInLine);
  if (!socket) return failure(socket.error());
  auto listener = BoundedListener::open(name, std::move(*socket), inside, bounds);
  if (!listener) return failure(listener.error());
  return listeners_.emplace_back(std::move(*listener))->endpoint();
}

lease::Defaults Daemon::times() const { return times_under(service_->policy().now(), setup_.config); }

std::vector<model::ListenerRow> Daemon::listener_rows() const {
  std::vector<model::ListenerRow> rows;
  for (const auto& listener : listeners_) rows.push_back(listener->row());
  return rows;
}

void Daemon::describe() {
  endpoint_.instance = setup_.instance.hex();
  endpoint_.cluster = setup_.scope.cluster;
  endpoint_.pid = static_cast<std::uint32_t>(::getpid());
  endpoint_.uid = ::geteuid();
  endpoint_.key = transport::to_z85(keys_.public_key);
  endpoint_.launcher = word(setup_.launcher);
  endpoint_.version = kVersion;
  endpoint_.log = setup_.folders.log();
  endpoint_.results = setup_.folders.results();
  endpoint_.parked = setup_.folders.saved_states();
  endpoint_.parked_most_mib = times().parked_most_mib;
  endpoint_.parked_keep_s = std::chrono::duration_cast<std::chrono::seconds>(times().parked_keep).count();
  endpoint_.cell_output_mib = times().cell_output_mib;
  endpoint_.keep_cells = times().keep_cells;
  endpoint_.notify = service_->policy().now().notify;
  for (const ClassLimits& one : facts_.classes)
    endpoint_.classes.push_back(class_of_qos(service_->policy().now(), one.name));
}

Result<void> Daemon::start() {
  service_->start();
  for (const PreviousInstance& previous_instance : service_->previous_instances())
    if (const auto published = publish_endpoint(previous_instance.folders, endpoint_); !published)
      spdlog::warn("workers of {} cannot be told where we are: {}", previous_instance.instance.hex(),
                   published.error().text);
  return publish_endpoint(setup_.folders, endpoint_);
}

}  // namespace pounce::daemon
