// What can be asked for: each bound, and what all workers come to together.
#include "job/request_bounds.h"

#include <gtest/gtest.h>

namespace pounce::job {
namespace {

std::string refusal(const Resources& asked) {
  const auto checked = check_bounds(asked);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kBadRequest);
  return checked.error().text + ". " + checked.error().remedy;
}

Resources of(std::uint32_t workers, std::uint32_t gpus, std::uint32_t cpus = 0, std::uint64_t memory_mib = 0) {
  Resources asked;
  asked.workers = workers, asked.gpus = gpus, asked.cpus = cpus, asked.memory_mib = memory_mib;
  return asked;
}

TEST(RequestBoundsTest, EachFieldHasItsOwn) {
  const Resources defaults;
  for_each_field(defaults, [](const auto& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_constructible_v<Member, std::uint64_t> && !std::is_enum_v<Member>) {
      Resources asked;
      if (field.name == "nodes") asked.workers = kMostNodes;  // one on each
      field.get(asked) = Member(field.bounds.most);
      EXPECT_EQ(refusal(asked), "") << field.name;
      field.get(asked) = Member(field.bounds.most + 1);
      EXPECT_EQ(refusal(asked), std::string(field.name) + " cannot be " + std::to_string(field.bounds.most + 1) +
                                    ". Ask for " + std::to_string(field.bounds.least) + " to " +
                                    std::to_string(field.bounds.most) + ".");
    }
  });
}

// Found in an attack: 2^31 times two is none in 32 bits.
TEST(RequestBoundsTest, TheWorkersTogetherHaveThoseOfOneNode) {
  EXPECT_EQ(refusal(of(2, 2048)), "");
  EXPECT_EQ(refusal(of(2, 2049)), "2 workers would have 4098 GPUs of one node. Ask for at most 4096 together.");
  EXPECT_EQ(refusal(of(2, 0, 32'500)), "");
  EXPECT_EQ(refusal(of(2, 0, 32'501)), "2 workers would have 65002 CPUs of one node. Ask for at most 65000 together.");
  EXPECT_EQ(refusal(of(256, 0, 0, kMostMemoryMib / 256)), "");
  EXPECT_NE(refusal(of(256, 0, 0, kMostMemoryMib / 256 + 1)).find("MiB of memory of one node"), std::string::npos);
}

TEST(RequestBoundsTest, SeveralNodesHaveAsManyWorkersEach) {
  Resources asked = of(4, 2048);
  asked.nodes = 2;
  EXPECT_EQ(refusal(asked), "") << "4096 on each";
  asked.nodes = 3;
  EXPECT_EQ(
      refusal(asked),
      "4 workers on 3 nodes are not as many on each. Ask for a number of workers that the number of nodes divides.");
}

TEST(RequestBoundsTest, NoSumWraps) {
  const Resources most = of(kMostWorkers, kMostGpus, kMostCpus, kMostMemoryMib);
  EXPECT_EQ(most.all_gpus(), kMostGpus * kMostWorkers);
  EXPECT_EQ(most.all_cpus(), kMostCpus * kMostWorkers);
  EXPECT_EQ(most.node_memory_mib(), kMostMemoryMib * kMostWorkers);
  EXPECT_EQ(of(2, 1u << 31).all_gpus(), 1ull << 32);
}

}  // namespace
}  // namespace pounce::job
