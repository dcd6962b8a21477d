// The one list of errors: every code has a name of its own on the wire, a class of its own in Python and a remedy.
#include <gtest/gtest.h>

#include <set>

#include "pounce/error.h"
#include "protocol/codec.h"
#include "protocol/message_limits.h"

namespace pounce {
namespace {

#define POUNCE_ONE(enumerator, wire, python, remedy) ErrorCode::enumerator,
constexpr ErrorCode kAll[] = {POUNCE_ERROR_CODES(POUNCE_ONE)};
#undef POUNCE_ONE
#define POUNCE_CLASS(enumerator, wire, python, remedy) python,
constexpr std::string_view kClasses[] = {POUNCE_ERROR_CODES(POUNCE_CLASS)};
#undef POUNCE_CLASS

TEST(ErrorTableTest, NamesEachCodeOnceOnTheWireAndOnceInPython) {
  std::set<std::string_view> wire;
  for (const ErrorCode code : kAll) {
    EXPECT_TRUE(wire.insert(wire_name(code)).second) << wire_name(code);
    EXPECT_EQ(error_code_from_wire(wire_name(code)), code);
  }
  EXPECT_EQ(std::set<std::string_view>(std::begin(kClasses), std::end(kClasses)).size(), std::size(kClasses));
}

TEST(ErrorTableTest, SaysInOneSentenceWhatToDo) {
  for (const ErrorCode code : kAll) {
    const std::string_view remedy = default_remedy(code);
    EXPECT_GT(remedy.size(), 10u) << wire_name(code);
    EXPECT_TRUE(remedy.ends_with('.') || remedy.ends_with("...")) << remedy;
  }
}

TEST(ErrorTableTest, TravelsWithEachOfItsParts) {
  for (const ErrorCode code : kAll) {
    const Error error{code, "cause", "remedy", {{"node", "g1"}}};

    const auto decoded = protocol::decode(protocol::encode(protocol::Refused{error}), protocol::kHeaderBytes);

    ASSERT_TRUE(decoded);
    EXPECT_EQ(std::get<protocol::Refused>(*decoded).error, error);
  }
}

TEST(ErrorTableTest, AdvisesTheCodesOwnRemedyUnlessTheErrorHasABetterOne) {
  EXPECT_EQ((Error{ErrorCode::kTimeout, "late", "", {}}).advice(), default_remedy(ErrorCode::kTimeout));
  EXPECT_EQ((Error{ErrorCode::kTimeout, "late", "Hurry.", {}}).advice(), "Hurry.");
}

}  // namespace
}  // namespace pounce
