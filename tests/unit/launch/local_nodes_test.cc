// How a job is begun that lies on another node, or on several.
#include "launch/local_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "job/inside_job.h"

namespace pounce::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;

LocalRooms two_nodes() {
  LocalRooms rooms = {room_of(2, 0, "4"), room_of(4, 0, "0,1")};
  rooms[0].relative = 1;
  rooms[1].node = "g1";
  return rooms;
}

JobSpec program() {
  JobSpec spec;
  spec.command = {"w", "serve"};
  return spec;
}

TEST(LocalNodesTest, OnThisMachineItIsTheProgramWithItsDevices) {
  const JobSpec begun = begun_on(two_nodes(), "17", program(), {{0, {0}}});
  EXPECT_THAT(begun.command, ElementsAre("w", "serve"));
  EXPECT_EQ(begun.environment.at("CUDA_VISIBLE_DEVICES"), "4");
}

TEST(LocalNodesTest, OnAnotherNodeItIsAStepThere) {
  const JobSpec begun = begun_on(two_nodes(), "17", program(), {{1, {1}}});
  EXPECT_EQ(begun.command.front(), "srun");
  for (const char* word : {"--jobid=17", "--relative=0", "CUDA_VISIBLE_DEVICES=1", "serve"})
    EXPECT_THAT(begun.command, Contains(word));
}

TEST(LocalNodesTest, OnSeveralItIsToldWhereTheOthersLie) {
  const JobSpec begun = begun_on(two_nodes(), "17", program(), {{0, {0}}, {1, {0}}});
  const job::JobNodes nodes = job::job_nodes(begun.environment);
  EXPECT_THAT(begun.command, ElementsAre("w", "serve"));
  EXPECT_EQ(nodes.job, "17");
  EXPECT_THAT(nodes.places, ElementsAre(job::StepPlace{1, "4"}, job::StepPlace{0, "0"}));
}

TEST(LocalNodesTest, WithoutAGpuItSeesNoneOfAnothersNode) {
  EXPECT_THAT(begun_on(two_nodes(), "17", program(), {{1, {}}}).command, Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(LocalNodesTest, ItsNodesAreNamedAsTheirWorkersNameThem) {
  char here[256] = {};
  ::gethostname(here, sizeof here - 1);
  EXPECT_EQ(node_names(two_nodes(), {{0, {}}, {1, {}}}), std::string(here) + ",g1");
}

}  // namespace
}  // namespace pounce::launch
