// pouncectl nodes: this daemon's nodes and Slurm's, as rows.
#include <gmock/gmock.h>

#include "pouncectl/cluster_tables.h"

namespace pounce::ctl {
namespace {

using testing::ElementsAre;

model::GpuRow gpu(const std::string& uuid) {
  model::GpuRow row;
  row.uuid = uuid, row.model = "A100", row.driver = "580.1", row.memory_mib = 81'920, row.numa_node = 1,
  row.nvlink = {"GPU-22222222-0"};
  return row;
}

model::NodeRow told(const std::string& name) {
  model::NodeRow node;
  node.node = name;
  node.leases = 1;
  node.gpus = {gpu("GPU-11111111-0")};
  node.gpu_direct_storage = "compat";
  return node;
}

NodeUse slurms(const std::string& name, bool takes_work = true) {
  NodeUse node;
  node.name = name, node.takes_work = takes_work, node.gpus = {{"a100", 4, 3}};
  return node;
}

TEST(NodeCellsTest, OneOfBothIsOneRow) {
  const auto nodes = nodes_of({told("g1")}, {slurms("g1"), slurms("g2", false)});

  const auto cells = node_cells(nodes, 1000);

  ASSERT_EQ(cells.size(), 3u);
  EXPECT_THAT(cells[1], ElementsAre("g1", "1", "3 of 4 a100", "compat", "ok", "", ""));
  EXPECT_THAT(cells[2], ElementsAre("g2", "", "3 of 4 a100", "", "takes no work", "", ""));
}

TEST(NodeCellsTest, AnAvoidedOneSaysForHowLongAndWhy) {
  model::NodeRow node = told("g1");
  node.gpus.front().failed = "it fell off";
  node.avoided_until_s = 1600, node.trouble = "the GPU failed";

  const auto cells = node_cells(nodes_of({node}, {}), 1000);

  EXPECT_THAT(cells[1],
              ElementsAre("g1", "1", "", "compat", "GPU-11111111 failed, avoided", "10 min", "the GPU failed"));
}

TEST(NodeCellsTest, EachGpuIsARow) {
  model::NodeRow node = told("g1");
  node.gpus.push_back({});
  node.gpus.back().uncorrected_errors = 2;

  const auto cells = device_cells(nodes_of({node}, {}));

  ASSERT_EQ(cells.size(), 3u);
  EXPECT_THAT(cells[1], ElementsAre("g1", "GPU-11111111", "A100", "", "81920 MiB", "1", "GPU-22222222", "580.1", "ok"));
  EXPECT_THAT(cells[2], ElementsAre("g1", "", "", "", "", "", "", "", "2 ECC errors"));
}

}  // namespace
}  // namespace pounce::ctl
