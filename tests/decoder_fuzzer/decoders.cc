#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "decoder_fuzzer/decoder.h"
#include "decoder_fuzzer/record_decoders.h"
#include "job/job_tag.h"
#include "model/json.h"
#include "policy/policy.h"
#include "pounced/startup/config.h"
#include "pounced/storage/journal.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"
#include "protocol/state_files.h"
#include "protocol/stream_framing.h"
#include "saved_state/manifest.h"
#include "slurm/wire.h"
#include "tls/message_framing.h"
#include "transport/frame.h"
#include "transport/local_stream.h"
#include "unit/protocol/examples.h"
#include "worker/interpreter/object_store.h"

namespace pounce::decoder_fuzzer {
namespace {

using Text = std::optional<std::string>;

const std::string kRead = "read";

Text header_again(std::string_view bytes) {
  const auto header = protocol::decode(bytes, protocol::kControlMessageBytes);
  return header ? Text(protocol::encode(*header)) : std::nullopt;
}

std::vector<std::string> headers() {
  std::vector<std::string> all;
  for (const protocol::Header& header : protocol::one_of_each()) all.push_back(protocol::encode(header));
  return all;
}

Text endpoint_again(std::string_view bytes) {
  const auto file = protocol::decode_endpoint_file(protocol::lines_of(bytes).statement);
  return file ? Text(protocol::encode_endpoint_file(*file)) : std::nullopt;
}

std::vector<std::string> endpoints() {
  protocol::EndpointFile file;
  file.instance = "0123456789ab", file.cluster = "test", file.pid = 7, file.uid = 1000, file.key = protocol::kKey;
  file.handshake = {"ipc:///run/user/1000/pounce/handshake", "tcp://10.77.0.1:40000"}, file.proof = "munge";
  return {protocol::encode_endpoint_file(file), protocol::encode_endpoint_file(file) + "\nseal"};
}

Text journal_again(std::string_view bytes) {
  std::string text;
  for (const lease::JournalRecord& record : daemon::parse_journal(bytes).records)
    text += daemon::encode_journal_line(record);
  return text;
}

std::vector<std::string> journals() {
  lease::JournalRecord record;
  record.lease = protocol::kLease;
  record.resources = protocol::example_resources();
  const std::string intent = daemon::encode_journal_line(record);
  record.kind = lease::JournalRecord::Kind::kEnded;
  record.why = protocol::example_cause();
  return {intent, intent + daemon::encode_journal_line(record)};
}

Text manifest_again(std::string_view bytes) {
  const auto manifest = saved_state::read_manifest(bytes);
  return manifest ? Text(model::to_text(*manifest)) : std::nullopt;
}

std::vector<std::string> manifests() {
  return {
      R"({"format":1,"cell":7,"turn":9,"made":{"conn":3},"versions":{"python":"3.11.2"},"modules":{"np":["numpy",""]},"unparkable":{"conn":"a socket"},)"
      R"("process":null,"units":[{"names":["a","b"],"depends":[],"reads":[],"packages":[],"graph":[70,["00"]],"cell":7,"blobs":[],"buffers":[]}],"digest":"00"})"};
}

Text about_again(std::string_view bytes) {
  const auto about = saved_state::read_about(bytes);
  return about ? Text(model::to_text(*about)) : std::nullopt;
}

std::vector<std::string> abouts() {
  return {
      R"({"notebook":"/home/alice/fit.ipynb","host":"login","pid":7,"python":"3.11.2","began":1.5,"setup":[[3,"import torch"]]})"};
}

Text config_again(std::string_view bytes) { return daemon::parse_config(bytes) ? Text(kRead) : std::nullopt; }
Text policy_again(std::string_view bytes) { return policy::parse_policy(bytes) ? Text(kRead) : std::nullopt; }

std::vector<std::string> policies() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(POUNCE_SOURCE_DIR "/examples/policies")) {
    std::ifstream file(entry.path());
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

Text question_again(std::string_view bytes) {
  const auto request = slurm::decode_request(bytes);
  return request ? Text(slurm::encode(*request)) : std::nullopt;
}

template <class... Asked>
std::vector<slurm::Question> each_question(const std::variant<Asked...>*) {
  return {slurm::Question(Asked{})...};
}

const std::vector<slurm::Question>& questions() {
  static const std::vector<slurm::Question> all = each_question(static_cast<const slurm::Question*>(nullptr));
  return all;
}

std::vector<std::string> asked() {
  std::vector<std::string> all;
  for (const slurm::Question& question : questions()) all.push_back(slurm::encode(slurm::Request{7, question}));
  return all;
}

// As the answer to each question, for several may take the same bytes.
Text answer_again(std::string_view bytes) {
  bool read = false;
  for (const slurm::Question& question : questions()) {
    const auto answer = slurm::decode_answer(bytes, question);
    if (!answer || !answer->value) continue;
    read = true;
    const std::string once = slurm::encode(*answer, question);
    const auto twice = slurm::decode_answer(once, question);
    if (!twice || slurm::encode(*twice, question) != once) return "it changed when it was read again: " + once;
  }
  return read ? Text(kRead) : std::nullopt;
}

std::vector<std::string> answers() {
  std::vector<std::string> all;
  const auto add = [&all](const slurm::Question& question, const std::any& value) {
    all.push_back(slurm::encode(slurm::Answer{7, value}, question));
  };
  add(slurm::AskVersion{}, std::string("libslurm.so.38 (22.05.8)"));
  add(slurm::AskFacts{}, slurm::AskFacts::Answer{});
  add(slurm::Cancel{}, slurm::Done{});
  add(slurm::AskJobs{}, slurm::AskJobs::Answer{{AccountedJob{}}, 7, true});
  return all;
}

// Whole and in two pieces: the same records.
Text records_again(std::string_view bytes) {
  std::string text;
  for (const std::size_t cut : {std::size_t{0}, bytes.size() / 2}) {
    protocol::RecordReader reader(1024);
    std::string records;
    for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.append(piece);
      while (true) {
        const auto record = reader.next();
        if (!record || !*record) break;
        records += protocol::frame_record(**record);
      }
    }
    if (cut == 0)
      text = records;
    else if (records != text)
      return "other records when it came in two pieces";
  }
  return text;
}

std::vector<std::string> records() {
  return {protocol::frame_record("one"), protocol::frame_record("one") + protocol::frame_record("another")};
}

std::string framed(transport::Message message) {
  tls::MessageWriter writer;
  std::string bytes;
  for (writer.add(std::move(message)); !writer.empty(); writer.took(writer.next().size()))
    bytes.append(reinterpret_cast<const char*>(writer.next().data()), writer.next().size());
  return bytes;
}

// What a peer sends within TLS, at once and byte by byte: the same messages. A frame over 64 KiB is refused.
Text bulk_again(std::string_view bytes) {
  std::string text;
  for (const std::size_t piece : {std::max(bytes.size(), std::size_t{1}), std::size_t{1}}) {
    tls::MessageReader reader(16, 64 * 1024);
    std::string messages;
    for (std::string_view left = bytes; !left.empty();) {
      const auto place = reader.wanted();
      const std::size_t count = std::min({piece, place.size(), left.size()});
      std::memcpy(place.data(), left.data(), count);
      left.remove_prefix(count);
      if (!reader.took(count)) break;
      if (auto message = reader.message()) messages += framed(std::move(*message));
    }
    if (piece == std::max(bytes.size(), std::size_t{1}))
      text = messages;
    else if (messages != text)
      return "other messages when they came byte by byte";
  }
  return text;
}

std::vector<std::string> bulk() {
  const auto one = [](std::initializer_list<std::string_view> frames) {
    transport::Message message;
    for (const std::string_view frame : frames) message.push_back(transport::Frame::copy(frame));
    return framed(std::move(message));
  };
  return {one({"header", "payload"}), one({""}) + one({"header", "", std::string(300, 'x')}) + one({"last"})};
}

// Several messages in one, as whoever is attached may send it; the first byte is how many.
Text several_again(std::string_view bytes) {
  const auto messages =
      bytes.empty() ? std::nullopt : transport::unpack(bytes.substr(1), static_cast<unsigned char>(bytes.front()));
  if (!messages) return std::nullopt;
  std::deque<transport::Message> all;
  for (const transport::Message& message : *messages) {
    transport::Message& copy = all.emplace_back();
    for (const transport::Frame& frame : message) copy.push_back(transport::Frame::copy(frame.text()));
  }
  return bytes.front() + std::string(transport::pack(all, all.size()).text());
}

std::vector<std::string> several() {
  std::deque<transport::Message> all;
  for (const protocol::Header& header : {protocol::Header(protocol::Task{protocol::kTask, protocol::kFunction, {}, 0}),
                                         protocol::Header(protocol::Ack{{protocol::kTask}})}) {
    transport::Message& message = all.emplace_back();
    message.push_back(transport::Frame::copy(protocol::encode(header)));
    message.push_back(transport::Frame::copy("payload"));
  }
  return {'\1' + std::string(transport::pack(all, 1).text()), '\2' + std::string(transport::pack(all, 2).text())};
}

// Over a pair of sockets, as a process of the same user speaks it; what is no message ends the stream.
Text local_again(std::string_view bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  const UniqueFd speaker(ends[0]);
  transport::LocalStream stream(UniqueFd(ends[1]), protocol::kDataFrameBytes);
  std::string messages;
  for (std::string_view left = bytes; !left.empty() && stream.open();) {
    const ssize_t sent = ::send(speaker.get(), left.data(), std::min<std::size_t>(left.size(), 4096), MSG_NOSIGNAL);
    if (sent <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(sent));
    for (int reads = 0; reads < 2; ++reads)
      while (auto message = stream.receive()) messages += framed(std::move(*message));
  }
  return messages;
}

// Objects that a client announces and sends, as a script: an announcement of up to four sizes, or a chunk of a few
// bytes.
Text chunks_again(std::string_view bytes) {
  worker::ObjectStore store(1 << 20);
  const auto number = [&bytes]() -> std::uint64_t {
    const auto value = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(std::min<std::size_t>(1, bytes.size()));
    return value;
  };
  std::uint64_t come = 0;
  while (!bytes.empty()) {
    const SessionId session({static_cast<std::uint8_t>(number() % 2)});
    const ObjectId object({static_cast<std::uint8_t>(number() % 3)});
    if (number() % 2 == 0) {
      worker::ObjectOffer offer{object, "pickle", {}, number() % 2 == 0};
      for (auto sizes = number() % 5; sizes > 0; --sizes) offer.sizes.push_back(number() << (number() % 64));
      static_cast<void>(store.announce(session, std::move(offer)));
    } else {
      const auto buffer = static_cast<std::uint32_t>(number());
      const std::uint64_t offset = number() << (number() % 64);
      const std::uint64_t wanted = number();  // which takes one of the bytes
      const auto size = std::min<std::size_t>(wanted, bytes.size());
      if (store.chunk(session, object, {buffer, offset}, std::as_bytes(std::span(bytes.substr(0, size)))) ==
          worker::ObjectStore::Receipt::kWhole)
        ++come;
      bytes.remove_prefix(size);
    }
    if (auto use = store.use(object))
      for (const auto& part : use->buffers)
        if (!part.bytes.empty()) static_cast<void>(std::ranges::count(part.bytes, std::byte{0}));
  }
  return come == 0 ? Text() : Text(kRead);
}

std::vector<std::string> chunk_scripts() {
  const auto script = [](std::initializer_list<int> numbers) { return std::string(numbers.begin(), numbers.end()); };
  return {script({0, 0, 0, 1, 1, 3, 0, 0, 0, 1, 0, 0, 0, 3}) + "abc"};
}

Text tag_again(std::string_view bytes) {
  static_cast<void>(job::noted_times(bytes, std::chrono::hours(1)));
  static_cast<void>(job::tells_hold(bytes));
  const auto tag = job::parse_job_tag(bytes);
  return tag ? Text(job::format_job_tag(*tag)) : std::nullopt;
}

std::vector<std::string> tags() {
  const job::JobTag tag{*InstanceId::from_hex("0123456789ab"), protocol::kLease};
  return {job::format_job_tag(tag), job::format_hold_note(tag),
          job::format_job_note(tag, false, std::chrono::seconds(812), std::chrono::seconds(61))};
}

}  // namespace

const std::vector<Decoder>& decoders() {
  static const std::vector<Decoder> all = [] {
    std::vector<Decoder> all = {
        {"header", header_again, headers},
        {"endpoint", endpoint_again, endpoints},
        {"journal", journal_again, journals},
        {"config", config_again,
         [] {
           return std::vector<std::string>{"{}", R"({"launcher":"local","idle_release_s":60,"stand_in_gpus":2})"};
         }},
        {"policy", policy_again, policies},
        {"question", question_again, asked},
        {"answer", answer_again, answers},
        {"records", records_again, records},
        {"bulk", bulk_again, bulk},
        {"local", local_again, bulk},
        {"several", several_again, several},
        {"chunks", chunks_again, chunk_scripts},
        {"tag", tag_again, tags},
        {"manifest", manifest_again, manifests},
        {"about", about_again, abouts},
    };
    std::ranges::copy(record_decoders(), std::back_inserter(all));
    return all;
  }();
  return all;
}

std::string trouble_with(const Decoder& decoder, std::string_view bytes) {
  const Text once = decoder.again(bytes);
  if (!once || *once == kRead) return {};
  const Text twice = decoder.again(*once);
  if (!twice) return "what it was read as is refused: " + *once;
  return *twice == *once ? "" : "it was read as\n" + *once + "\nand that as\n" + *twice;
}

}  // namespace pounce::decoder_fuzzer
