#include "slurm/gres.h"

#include <algorithm>
#include <charconv>

namespace pounce::slurm {
namespace {

// Commas also occur inside parentheses.
std::string without_parentheses(std::string_view text) {
  std::string bare;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) bare += c;
    depth -= c == ')' ? 1 : 0;
  }
  return bare;
}

void add_one(std::string_view entry, std::map<std::string, std::uint32_t>& gpus) {
  constexpr std::string_view kGpu = "gpu";
  if (!entry.starts_with(kGpu) || (entry.size() > kGpu.size() && entry[kGpu.size()] != ':')) return;
  entry.remove_prefix(std::min(entry.size(), kGpu.size() + 1));
  const auto colon = entry.rfind(':');
  const std::string_view last = colon == std::string_view::npos ? entry : entry.substr(colon + 1);
  std::uint32_t count = 0;
  const bool is_number = std::from_chars(last.data(), last.data() + last.size(), count).ptr == last.data() + last.size() && !last.empty();
  if (!is_number) count = 1;  // "gpu", or "gpu:a100": one
  const std::string type(is_number ? entry.substr(0, colon == std::string_view::npos ? 0 : colon) : entry);
  gpus[type] += count;
}

}  // namespace

std::map<std::string, std::uint32_t> gpus_of(std::string_view gres) {
  std::map<std::string, std::uint32_t> gpus;
  const std::string bare = without_parentheses(gres);
  for (std::size_t begin = 0; begin <= bare.size();) {
    const std::size_t end = std::min(bare.find(',', begin), bare.size());
    add_one(std::string_view(bare).substr(begin, end - begin), gpus);
    begin = end + 1;
  }
  return gpus;
}

}  // namespace pounce::slurm
