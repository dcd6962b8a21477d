// device_speed host|cuda devices | copy MIB ROUNDS | broadcast MIB RANKS: prints JSON. Exit code 3: there is no such
// device, and the line on the standard output says why; 1: it failed.
#include "gpu/device_speed.h"

#include <charconv>
#include <iostream>
#include <string_view>

#include "device/driver.h"

namespace pounce::device {
namespace {

constexpr std::uint32_t kHostDevices = 4;
constexpr int kFailed = 1, kUsage = 2, kNoDevice = 3;

Result<std::unique_ptr<Backend>> open_backend(std::string_view kind) {
  if (kind == "host") return host_backend({.devices = kHostDevices});
  return cuda_backend();
}

nlohmann::json told(const DeviceFacts& facts) {
  return {{"uuid", facts.uuid},
          {"model", facts.model},
          {"driver", facts.driver},
          {"bytes", facts.memory.total_bytes},
          {"sliced", facts.sliced.value_or(false)},
          {"nvlink_peers", facts.nvlink_peers}};
}

Result<nlohmann::json> devices_of(Backend& backend) {
  return backend.devices().map([](const std::vector<DeviceFacts>& all) {
    nlohmann::json list = nlohmann::json::array();
    for (const DeviceFacts& one : all) list.push_back(told(one));
    return list;
  });
}

std::uint32_t number(std::string_view word) {
  std::uint32_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

int told(const Error& error, int code) {
  std::cout << nlohmann::json{{"error", error.text}, {"remedy", error.remedy}} << std::endl;
  return code;
}

int run(std::vector<std::string_view> words) {
  const bool known = words.size() >= 2 && (words[0] == "host" || words[0] == "cuda");
  const bool lists = known && words.size() == 2 && words[1] == "devices";
  const bool counts = known && words.size() == 4 && number(words[2]) > 0 && number(words[3]) > 0;
  const bool copies = counts && words[1] == "copy", broadcasts = counts && words[1] == "broadcast";
  if (!lists && !copies && !broadcasts) {
    std::cerr << "device_speed host|cuda devices | copy MIB ROUNDS | broadcast MIB RANKS\n";
    return kUsage;
  }
  const auto backend = open_backend(words[0]);
  if (!backend) return told(backend.error(), kNoDevice);
  const std::size_t size = lists ? 0 : std::size_t{number(words[2])} << 20;
  const auto found = lists    ? devices_of(**backend)
                     : copies ? copy_speed(**backend, size, static_cast<int>(number(words[3])))
                              : broadcast_speed(**backend, size, number(words[3]));
  if (!found) return told(found.error(), kFailed);
  std::cout << *found << std::endl;
  return 0;
}

}  // namespace
}  // namespace pounce::device

int main(int argc, char** argv) { return pounce::device::run({argv + 1, argv + argc}); }
