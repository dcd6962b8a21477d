// Which memory an object is sent from, where several hold the same data.
#include "client/objects.h"

#include <gtest/gtest.h>

#include "base/random_id.h"

namespace pounce::client {
namespace {

class ObjectsTest : public testing::Test {
 protected:
  Object made(const std::string& text) { return {own_bytes(text), {}}; }
  std::string found() const {
    const Object* object = objects.find(id);
    return object == nullptr
               ? "nothing"
               : std::string(reinterpret_cast<const char*>(object->pickle.bytes.data()), object->pickle.bytes.size());
  }

  const ObjectId id = random_id<ObjectId>();
  Objects objects;
};

TEST_F(ObjectsTest, OfEqualDataThatOfWhoeverStillHoldsItIsSent) {
  const HolderNumber first = objects.hold(id, made("first's")), second = objects.hold(id, made("second's"));
  EXPECT_EQ(found(), "first's");

  objects.release(id, first);

  EXPECT_EQ(found(), "second's");
  objects.release(id, second);
  EXPECT_EQ(found(), "nothing");
}

TEST_F(ObjectsTest, TheLastOneStaysWhileATaskNeedsIt) {
  const HolderNumber holder = objects.hold(id, made("its"));
  EXPECT_TRUE(objects.hold(id));

  objects.release(id, holder);

  EXPECT_EQ(found(), "its");
  objects.release(id);
  EXPECT_EQ(found(), "nothing");
}

TEST_F(ObjectsTest, WhatWasLetGoOfIsNotSentOnceSomebodyBringsItAgain) {
  objects.release(id, objects.hold(id, made("nothing is held")));
  const HolderNumber first = objects.hold(id, made("first's"));
  EXPECT_TRUE(objects.hold(id));
  objects.release(id, first);

  objects.hold(id, made("second's"));

  EXPECT_EQ(found(), "second's");
}

TEST_F(ObjectsTest, LettingGoTwiceLetsGoOnce) {
  const HolderNumber first = objects.hold(id, made("first's"));
  objects.hold(id, made("second's"));

  objects.release(id, first);
  objects.release(id, first);

  EXPECT_EQ(found(), "second's");
}

TEST_F(ObjectsTest, ATaskHoldsNothingThatIsNotThere) { EXPECT_FALSE(objects.hold(id)); }

}  // namespace
}  // namespace pounce::client
