// What a user leaves open, decided: the class, the GPU type, the nodes; and what can never be is refused with what
// would fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/placement_choice.h"
#include "policy/policy.h"

namespace pounce::policy {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The platform of the founding documents, with the memory and CUDA of its GPUs.
const Policy& mlerp() {
  static const Policy policy = *parse_policy(R"({
    "classes": {
      "lion": {"partition": "bigcats", "walltime": "24h", "running_jobs_per_user": 4, "gpus_per_user": 0},
      "cheetah": {"partition": "bigcats", "qos": "fast", "walltime": "30min", "running_jobs_per_user": 20},
      "panther": {"partition": "bigcats", "walltime": "7d", "running_jobs_per_user": 1, "gpus_per_user": 0, "account": "long"},
      "tabby": {"partition": "housecats", "walltime": "12h", "running_jobs_per_user": 1}
    },
    "gpu_types": {"40gb": "40GB", "3g.20gb": "20GB", "2g.10gb": "10GB", "v100": "32GB"},
    "gpu_cuda": {"40gb": "12.4", "3g.20gb": "12.4", "2g.10gb": "12.4", "v100": "11.8"},
    "slurm_options": ["constraint", "nodelist"]})");
  return policy;
}

NodeUse node(std::string name, std::vector<std::string> partitions, std::vector<GpuUse> gpus) {
  NodeUse use{std::move(name), std::move(partitions)};
  use.cpus = use.cpus_free = 32;
  use.memory_mib = use.memory_free_mib = 128 * 1024;
  use.gpus = std::move(gpus);
  return use;
}

// big: four whole GPUs and two slices; old: two v100; house: two slices; SERVER: one whole GPU.
ClusterSnapshot cluster() {
  ClusterSnapshot cluster_snapshot;
  cluster_snapshot.default_partition = "bigcats";
  for (const char* name : {"lion", "fast", "panther", "tabby"}) cluster_snapshot.use.classes.push_back({.name = name});
  cluster_snapshot.nodes = {
      node("big", {"bigcats"}, {{"40gb", 4, 4}, {"3g.20gb", 2, 2}}), node("old", {"bigcats"}, {{"v100", 2, 2}}),
      node("house", {"housecats"}, {{"2g.10gb", 2, 2}}), node("SERVER", {"bigcats"}, {{"40gb", 1, 1}})};
  return cluster_snapshot;
}

Resources gpus(std::uint32_t count, std::string type = "") {
  Resources asked;
  asked.gpus = count;
  asked.gpu_type = std::move(type);
  return asked;
}

Result<Choice> choose_in(const ClusterSnapshot& cluster_snapshot, const Resources& asked,
                         std::vector<std::string> own_nodes = {}) {
  return choose(mlerp(), asked, {&cluster_snapshot, true, std::move(own_nodes)});
}
Result<Choice> choose_now(const Resources& asked) { return choose_in(cluster(), asked); }
std::string refused(const Result<Choice>& choice) { return choice ? "it is not" : choice.error().text; }

// ---- the class ---------------------------------------------------------------------------------------------------

struct Route {
  const char* intent;
  std::uint32_t gpus;
  minutes time;
  std::uint32_t workers;
  const char* chosen;  // "": refused
};

class RouterTest : public ::testing::TestWithParam<Route> {};

TEST_P(RouterTest, ChoosesTheClassByTheShapeOfTheRequest) {
  Resources asked = gpus(GetParam().gpus);
  asked.time = GetParam().time;
  asked.workers = GetParam().workers;
  const auto choice = choose_now(asked);
  EXPECT_EQ(choice ? choice->resources.class_name : "", GetParam().chosen)
      << GetParam().intent << ": " << refused(choice);
}

INSTANTIATE_TEST_SUITE_P(Intents, RouterTest,
                         ::testing::Values(Route{"rapid and flexible iteration: a cell", 1, minutes(0), 1, "cheetah"},
                                           Route{"experimenting: a short function on a CPU", 0, minutes(20), 1,
                                                 "cheetah"},
                                           Route{"a series: many workers at once", 0, minutes(30), 8, "cheetah"},
                                           Route{"data processing for hours", 0, hours(20), 4, "lion"},
                                           Route{"training for hours on a GPU", 1, hours(10), 1, "tabby"},
                                           Route{"exploration and visualisation with a GPU", 1, hours(2), 1, "tabby"},
                                           Route{"a notebook that stays for days", 0, hours(72), 1, "panther"},
                                           Route{"heavy processing on two GPUs for a day", 2, hours(24), 1, ""},
                                           Route{"longer than any class", 0, hours(24 * 8), 1, ""}));

TEST(ClassChoiceTest, NamesWhatStandsInTheWayOfEachClass) {
  Resources asked = gpus(1);
  asked.time = hours(24);
  EXPECT_THAT(
      refused(choose_now(asked)),
      HasSubstr("class cheetah gives at most 30min; class tabby gives at most 12h; class lion gives one user no GPU; "
                "class panther gives one user no GPU"));
}

TEST(ClassChoiceTest, PassesOverAClassThatIsNotOpenToTheUser) {
  ClusterSnapshot cluster_snapshot = cluster();
  std::erase_if(cluster_snapshot.use.classes, [](const ClassUse& use) { return use.name == "fast"; });
  const auto choice = choose_in(cluster_snapshot, {});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->resources.class_name, "tabby");
  EXPECT_THAT(choice->why, Contains("cheetah is not open to you"));
}

TEST(ClassChoiceTest, TheSitesOwnOrderGoesFirst) {
  Policy policy = mlerp();
  policy.class_order = {"lion", "tabby"};
  const ClusterSnapshot cluster_snapshot = cluster();
  EXPECT_EQ(choose(policy, {}, {&cluster_snapshot})->resources.class_name, "lion");
  EXPECT_EQ(choose(policy, gpus(1), {&cluster_snapshot})->resources.class_name, "tabby");
}

TEST(ClassChoiceTest, AClassIsAQosAPartitionAndAnAccount) {
  Resources asked;
  asked.class_name = "cheetah";
  const auto cheetah = choose_now(asked);
  EXPECT_EQ(cheetah->qos, "fast");
  EXPECT_EQ(cheetah->partition, "bigcats");
  asked.class_name = "panther";
  EXPECT_EQ(choose_now(asked)->resources.account, "long");
  asked.account = "own";
  EXPECT_EQ(choose_now(asked)->resources.account, "own");
}

TEST(ClassChoiceTest, AClassThatThePolicyDoesNotNameIsAQos) {
  Resources asked;
  asked.class_name = "normal";
  EXPECT_EQ(choose_now(asked)->qos, "normal");
}

TEST(ClassChoiceTest, WithoutAPolicyNothingIsChosen) {
  const ClusterSnapshot cluster_snapshot = cluster();
  const auto choice = choose({}, gpus(1), {&cluster_snapshot});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->resources, gpus(1));
  EXPECT_EQ(choice->qos + choice->partition, "");
}

TEST(ClassChoiceTest, WithoutAccountsTheClassGivesTheTimeAndNoQos) {
  Resources asked;
  asked.class_name = "lion";
  const auto choice = choose(mlerp(), asked, {nullptr, false});
  EXPECT_EQ(choice->qos, "");
  EXPECT_EQ(choice->resources.time, hours(24));
}

// ---- the GPU -------------------------------------------------------------------------------------------------------

Resources in_cheetah(Resources asked) {
  asked.class_name = "cheetah";
  return asked;
}

TEST(GpuChoiceTest, OfSeveralTypesThePreferredOneThatIsFree) {
  ClusterSnapshot cluster_snapshot = cluster();
  EXPECT_EQ(choose_in(cluster_snapshot, in_cheetah(gpus(1, "40gb,v100")))->resources.gpu_type, "40gb");
  cluster_snapshot.nodes[0].gpus[0].free = cluster_snapshot.nodes[3].gpus[0].free = 0;
  EXPECT_EQ(choose_in(cluster_snapshot, in_cheetah(gpus(1, "40gb,v100")))->resources.gpu_type, "v100");
  cluster_snapshot.nodes[1].gpus[0].free = 0;
  EXPECT_EQ(choose_in(cluster_snapshot, in_cheetah(gpus(1, "40gb,v100")))->resources.gpu_type, "40gb");
}

TEST(GpuChoiceTest, FreeOnADrainedNodeIsNotFree) {
  ClusterSnapshot cluster_snapshot = cluster();
  cluster_snapshot.nodes[0].takes_work = cluster_snapshot.nodes[3].takes_work = false;
  EXPECT_EQ(choose_in(cluster_snapshot, in_cheetah(gpus(1, "40gb,v100")))->resources.gpu_type, "v100");
}

TEST(GpuChoiceTest, ATypeThatIsNotThereIsPassedOver) {
  EXPECT_EQ(choose_now(in_cheetah(gpus(1, "h100,v100")))->resources.gpu_type, "v100");
  EXPECT_THAT(refused(choose_now(in_cheetah(gpus(1, "h100,h200")))),
              HasSubstr("there can never be 1 GPU of type h100,h200: h100 (not there), h200 (not there)"));
}

TEST(GpuChoiceTest, TheSmallestGpuWithEnoughMemory) {
  Resources asked = in_cheetah(gpus(1));
  asked.gpu_memory_mib = 16 * 1024;
  EXPECT_EQ(choose_now(asked)->resources.gpu_type, "3g.20gb");
  asked.gpu_memory_mib = 21 * 1024;
  EXPECT_EQ(choose_now(asked)->resources.gpu_type, "v100");
  asked.gpu_memory_mib = 41 * 1024;
  EXPECT_THAT(refused(choose_now(asked)), HasSubstr("with at least 41GB: 3g.20gb (20GB), v100 (32GB), 40gb (40GB)"));
}

TEST(GpuChoiceTest, SoManyOnOneNode) {
  Resources asked = in_cheetah(gpus(3));
  asked.gpu_memory_mib = 16 * 1024;
  EXPECT_EQ(choose_now(asked)->resources.gpu_type, "40gb");
  asked.gpus = 5;
  EXPECT_THAT(refused(choose_now(asked)), HasSubstr("40gb (not so much on one node)"));
}

TEST(GpuChoiceTest, TheRanksOfOneProgramGetTheSameTypeOnAllTheirNodes) {
  Resources asked = in_cheetah(gpus(1));
  asked.workers = asked.nodes = 2;
  ClusterSnapshot cluster_snapshot = cluster();
  cluster_snapshot.nodes.push_back(node("older", {"bigcats"}, {{"v100", 1, 1}}));
  EXPECT_EQ(choose_in(cluster_snapshot, asked)->resources.gpu_type, "40gb");
  cluster_snapshot.nodes[3].gpus[0].free = 0;
  EXPECT_EQ(choose_in(cluster_snapshot, asked)->resources.gpu_type, "v100");
  asked.workers = asked.nodes = 3;
  EXPECT_THAT(refused(choose_in(cluster_snapshot, asked)),
              HasSubstr("there can never be 3 GPUs of one type: 40gb (not so much on so many nodes)"));
}

TEST(GpuChoiceTest, WhereThereAreNotSoManyNodesThatIsSaidAndNotTheirTypes) {
  Resources asked = in_cheetah(gpus(1));
  asked.workers = asked.nodes = 9;
  EXPECT_THAT(refused(choose_now(asked)), HasSubstr("no 9 nodes"));
}

TEST(GpuChoiceTest, OneWorkerTakesAnyType) { EXPECT_EQ(choose_now(in_cheetah(gpus(1)))->resources.gpu_type, ""); }

// GPUs_MaxSupportedVersion > 12000 && GPUs_GlobalMemoryMb >= 32000 && machine != "SERVER"
TEST(GpuChoiceTest, CudaMemoryAndNotThatNode) {
  Resources asked = in_cheetah(gpus(1));
  asked.cuda = 12000;
  asked.gpu_memory_mib = 32 * 1024;
  asked.not_nodes = "SERVER";
  ClusterSnapshot cluster_snapshot = cluster();
  cluster_snapshot.not_nodes = {"SERVER"};
  const auto choice = choose_in(cluster_snapshot, asked);
  ASSERT_TRUE(choice) << choice.error().text;
  EXPECT_EQ(choice->resources.gpu_type, "40gb");
  EXPECT_EQ(choice->resources.not_nodes, "SERVER");
  cluster_snapshot.nodes.erase(cluster_snapshot.nodes.begin());  // the only other one with such GPUs
  EXPECT_THAT(refused(choose_in(cluster_snapshot, asked)), HasSubstr("v100 (CUDA up to 11.8)"));
}

TEST(GpuChoiceTest, WithoutTheSitesTableMemoryIsNotKnown) {
  Resources asked = gpus(1);
  asked.gpu_memory_mib = 1024;
  const auto choice = choose({}, asked, {});
  EXPECT_THAT(refused(choice), HasSubstr("the site's policy does not tell the memory of its GPUs"));
  EXPECT_THAT(choice.error().remedy, HasSubstr("gpu_type="));
}

// ---- many small GPUs rather than few large ones -------------------------------------------------------------------

// large: eight whole GPUs; slices-1 to slices-4: two slices each.
ClusterSnapshot sliced() {
  ClusterSnapshot cluster_snapshot = cluster();
  cluster_snapshot.nodes = {node("large", {"bigcats"}, {{"40gb", 8, 8}})};
  for (const char* name : {"slices-1", "slices-2", "slices-3", "slices-4"})
    cluster_snapshot.nodes.push_back(node(name, {"bigcats"}, {{"3g.20gb", 2, 2}}));
  return cluster_snapshot;
}

class ManySmallTest : public ::testing::Test {
 protected:
  ManySmallTest() {
    asked = in_cheetah(gpus(1));
    asked.gpu_memory_mib = 16 * 1024, asked.workers = 8;
  }
  Result<Choice> now() const {
    return choose(mlerp(), asked, {.cluster_snapshot = &cluster_snapshot, .awaited = awaited, .may_go_apart = true});
  }
  std::string type() const {
    const auto choice = now();
    return choice ? choice->resources.gpu_type : choice.error().fits_apart ? "apart" : choice.error().text;
  }
  void slices_free(std::uint32_t each) {
    for (NodeUse& one : cluster_snapshot.nodes)
      for (GpuUse& gpu : one.gpus)
        if (gpu.type == "3g.20gb") gpu.free = each;
  }

  Resources asked;
  ClusterSnapshot cluster_snapshot = sliced();
  GpuCounts awaited;
};

TEST_F(ManySmallTest, WorkersOfOneJobGoApartForAsManySmallGpusAsNoNodeHasTogether) {
  EXPECT_EQ(type(), "apart");
  EXPECT_THAT(now().error().text, HasSubstr("as many 3g.20gb, which are smaller than 40gb, are on several nodes"));
}

TEST_F(ManySmallTest, ThoseOfAPoolTakeTheSmallOnes) {
  asked.workers = 1;
  EXPECT_EQ(type(), "3g.20gb");
}

TEST_F(ManySmallTest, WorkersStayTogetherWhereThereAreNotAsManySmallOnes) {
  asked.workers = 5;
  cluster_snapshot.nodes.resize(3);  // with four slices
  EXPECT_EQ(type(), "40gb");
}

TEST_F(ManySmallTest, WorkersStayTogetherWhereANodeHasAsManySmallOnes) {
  asked.workers = 2;
  EXPECT_EQ(type(), "3g.20gb");
}

TEST_F(ManySmallTest, SmallOnesThatOneNodeHasAreTakenFromSeveralOnlyWhileTheyAreFreeThere) {
  asked.workers = 2;
  slices_free(1);
  EXPECT_EQ(type(), "apart");
  awaited["3g.20gb"] = 3;
  EXPECT_EQ(type(), "40gb");
}

TEST_F(ManySmallTest, ANodeWithoutProcessorsForThemHasNoneForUs) {
  asked.cpus = 20;  // of 32: one worker on each
  cluster_snapshot.nodes[0].cpus = cluster_snapshot.nodes[0].cpus_free = 128;
  asked.workers = 5;
  EXPECT_EQ(type(), "40gb");
  asked.workers = 4;
  EXPECT_EQ(type(), "apart");
}

TEST_F(ManySmallTest, RanksOfAGangStayTogether) {
  asked.gang = 1;
  EXPECT_EQ(type(), "40gb");
}

TEST_F(ManySmallTest, WhoNamesATypeOrAsksForNoMemoryHasItTogether) {
  asked.gpu_type = "40gb";
  EXPECT_EQ(type(), "40gb");
  asked.gpu_type = "", asked.gpu_memory_mib = 0;
  EXPECT_EQ(type(), "");
}

TEST_F(ManySmallTest, WhoCannotTakeThemApartHasThemTogether) {
  EXPECT_EQ(choose_in(cluster_snapshot, asked)->resources.gpu_type, "40gb");
}

TEST_F(ManySmallTest, ALargerOneIsTakenWhereTheSmallOnesAreOursAlready) {
  asked.workers = 1;
  awaited["3g.20gb"] = 7;
  EXPECT_EQ(type(), "3g.20gb");
  awaited["3g.20gb"] = 8;
  EXPECT_EQ(type(), "40gb");
}

TEST_F(ManySmallTest, SmallOnesOfDrainedNodesAreNotWaitedFor) {
  asked.workers = 1;
  for (NodeUse& one : cluster_snapshot.nodes) one.takes_work = one.name == "large", one.gpus[0].free = 0;
  EXPECT_EQ(type(), "40gb");
  EXPECT_THAT(now()->why, Contains(HasSubstr("no node that takes work has 3g.20gb")));
  for (NodeUse& one : cluster_snapshot.nodes) one.takes_work = false;
  EXPECT_EQ(type(), "3g.20gb") << "nobody knows which comes back first";
}

TEST(AwaitedGpusTest, AreThoseOfJobsThatWaitAndOfLeasesThatSlurmDoesNotKnowYet) {
  const LeaseId known{{1}}, unknown{{2}}, of_a_cpu{{3}};
  JobView waits, runs;
  waits.state = JobState::kQueued, waits.lease = known, waits.resources = gpus(2, "a100");
  runs.state = JobState::kRunning, runs.resources = gpus(4, "a100");
  Resources four = gpus(1, "v100");
  four.workers = 4;

  EXPECT_THAT(awaited_gpus({waits, runs}, {{known, gpus(2, "a100")}, {unknown, four}, {of_a_cpu, {}}}),
              UnorderedElementsAre(Pair("a100", 2), Pair("v100", 4)));
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

TEST(NodeChoiceTest, RefusesWhatNoNodeHasAndSaysWhatOneHas) {
  Resources asked = in_cheetah({});
  asked.cpus = 64;
  const auto choice = choose_now(asked);
  EXPECT_THAT(refused(choice), HasSubstr("no node of partition bigcats can ever give this"));
  EXPECT_THAT(choice.error().remedy, HasSubstr("at most 32 CPUs, 128GB of memory, 6 GPUs (3g.20gb, 40gb, v100)"));
  EXPECT_EQ(choice.error().code, ErrorCode::kUnsatisfiable);
}

TEST(NodeChoiceTest, WherePartitionsAreNotShownAnyNodeMayDo) {
  ClusterSnapshot hidden = cluster();
  hidden.default_partition.clear();
  for (NodeUse& node : hidden.nodes) node.partitions.clear();

  const auto choice = choose_in(hidden, in_cheetah(gpus(2, "v100")));

  ASSERT_TRUE(choice) << refused(choice);
  EXPECT_EQ(choice->partition, "bigcats");
}

TEST(NodeChoiceTest, SaysHowWorkersThatNoNodeHoldsCanBeOnSeveral) {
  Resources asked = in_cheetah({});
  asked.cpus = 8, asked.workers = 16;
  EXPECT_THAT(choose_now(asked).error().remedy, HasSubstr("for workers on several nodes: workers=\"0:16\"."));
  EXPECT_TRUE(choose_now(asked).error().fits_apart);
  asked.gang = 1;
  EXPECT_THAT(choose_now(asked).error().remedy, HasSubstr("for workers on several nodes: nodes=."));
  EXPECT_FALSE(choose_now(asked).error().fits_apart);
  asked.gang = 0, asked.cpus = 64;
  EXPECT_FALSE(choose_now(asked).error().fits_apart) << "not even one fits";
}

// ---- a Slurm without accounts ------------------------------------------------------------------------------------

TEST(ClassOfOursAloneTest, IsRefusedByNameWhereNeitherSlurmNorThePolicyHasIt) {
  Resources asked = gpus(1);
  asked.class_name = "ocelot";

  const auto with_policy = choose(mlerp(), asked, {nullptr, false, {}}),
             without = choose(Policy{}, asked, {nullptr, false, {}});

  ASSERT_FALSE(with_policy || without);
  EXPECT_EQ(with_policy.error().code, ErrorCode::kUnknownClass);
  EXPECT_THAT(
      with_policy.error().text,
      HasSubstr(
          "there is no class 'ocelot'; this Slurm has no slurmdbd, so no classes but the policy's: cheetah, lion"));
  EXPECT_THAT(without.error().remedy, HasSubstr("leave class_ unset"));
}

TEST(ClassOfOursAloneTest, IsLeftToSlurmWhereItKeepsAccounts) {
  Resources asked = gpus(1);
  asked.class_name = "ocelot";

  const auto choice = choose(mlerp(), asked, {nullptr, true, {}});

  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->qos, "ocelot");
}

TEST(NodeChoiceTest, NamesANodeThatIsNone) {
  ClusterSnapshot cluster_snapshot = cluster();
  cluster_snapshot.not_nodes = {"bgi"};
  EXPECT_THAT(refused(choose_in(cluster_snapshot, {})), HasSubstr("not_nodes names bgi, which is no node"));
}

TEST(NodeChoiceTest, SpreadLeavesOutTheNodesOfOurLeasesWhereAnotherHasRoom) {
  Resources asked = in_cheetah({});
  asked.placement = Placement::kSpread;
  EXPECT_EQ(choose_in(cluster(), asked, {"big"})->resources.not_nodes, "big");
  EXPECT_EQ(choose_in(cluster(), asked, {"big", "old", "SERVER"})->resources.not_nodes, "");
}

TEST(NodeChoiceTest, PackTakesANodeOfOurLeasesThatHasRoom) {
  Resources asked = in_cheetah(gpus(1, "v100"));
  asked.placement = Placement::kPack;
  EXPECT_EQ(choose_in(cluster(), asked, {"big", "old"})->resources.slurm.at("nodelist"), "old");
  EXPECT_FALSE(choose_in(cluster(), asked, {"big"})->resources.slurm.contains("nodelist"));
}

// ---- Slurm's own options -------------------------------------------------------------------------------------------

TEST(SlurmOptionsTest, AnAllowedOneIsPassedOn) {
  Resources asked = in_cheetah({});
  asked.slurm = {{"constraint", "nvlink"}};
  EXPECT_EQ(choose_now(asked)->resources.slurm.at("constraint"), "nvlink");
}

TEST(SlurmOptionsTest, AnotherIsRefusedByNameWithThoseThatAreAllowed) {
  Resources asked = in_cheetah({});
  asked.slurm = {{"licenses", "matlab"}};
  const auto choice = choose_now(asked);
  EXPECT_THAT(refused(choice), HasSubstr("does not let people pass on Slurm's --licenses"));
  EXPECT_THAT(choice.error().remedy, HasSubstr("constraint, nodelist"));
  EXPECT_EQ(choice.error().code, ErrorCode::kBadRequest);
}

TEST(SlurmOptionsTest, OneThatPounceDoesNotKnowIsToldByTheNearest) {
  Resources asked = in_cheetah({});
  asked.slurm = {{"constrain", "nvlink"}};
  EXPECT_THAT(refused(choose_now(asked)), HasSubstr("the nearest that it knows is --constraint"));
}

// ---- when the cluster has to be looked at -------------------------------------------------------------------------

TEST(ClusterSnapshotTest, IsNeededOnlyWhereSomethingIsLeftOpen) {
  EXPECT_FALSE(needs_cluster_snapshot(mlerp(), in_cheetah(gpus(1, "40gb"))));
  EXPECT_FALSE(needs_cluster_snapshot({}, gpus(1)));
  EXPECT_TRUE(needs_cluster_snapshot(mlerp(), gpus(1)));
  EXPECT_TRUE(needs_cluster_snapshot(mlerp(), in_cheetah(gpus(1, "40gb,v100"))));
  Resources asked = in_cheetah({});
  asked.not_nodes = "big";
  EXPECT_TRUE(needs_cluster_snapshot(mlerp(), asked));
  Resources on_two = in_cheetah(gpus(1));
  on_two.nodes = on_two.workers = 2;
  EXPECT_TRUE(needs_cluster_snapshot(mlerp(), on_two));
}

}  // namespace
}  // namespace pounce::policy
