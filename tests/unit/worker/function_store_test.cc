#include <gtest/gtest.h>

#include <span>
#include <string_view>

#include "identity/content_digest.h"
#include "ids.h"
#include "worker/interpreter/object_store.h"

namespace pounce::worker {
namespace {

const SessionId kAlice = id_of<SessionId>(1), kOther = id_of<SessionId>(2);
FunctionId function_id(std::string_view bytes) {
  return FunctionId(identity::content_digest(std::as_bytes(std::span(bytes))));
}
const FunctionId kFunction = function_id("pickle");

TEST(FunctionStoreTest, LetsGoOfAFunctionWhenTheLastSessionDropsIt) {
  FunctionStore store;
  store.add(kAlice, kFunction, "pickle", false);
  store.add(kOther, kFunction, "pickle", false);
  EXPECT_EQ(store.bytes(), 6u);
  store.drop(kAlice, kFunction);
  EXPECT_NE(store.find(kFunction), nullptr);
  store.drop(kOther, kFunction);
  EXPECT_EQ(store.find(kFunction), nullptr);
  EXPECT_EQ(store.bytes(), 0u);
}

TEST(FunctionStoreTest, LetsGoOfWhatASessionHeldWhenItGoes) {
  FunctionStore store;
  store.add(kAlice, kFunction, "pickle", false);
  store.add(kAlice, function_id("other"), "other", false);
  store.add(kOther, function_id("other"), "other", false);
  store.drop_all(kAlice);
  EXPECT_EQ(store.bytes(), 5u);
}

TEST(FunctionStoreTest, ATaskThatHasArrivedKeepsItsFunction) {
  FunctionStore store;
  store.add(kAlice, kFunction, "pickle", true);
  const KeptFunction of_a_task = *store.find(kFunction);
  store.drop(kAlice, kFunction);
  EXPECT_EQ(*of_a_task.bytes, "pickle");
  EXPECT_TRUE(of_a_task.command);
}

TEST(FunctionStoreTest, WhatWasDroppedMayComeAgain) {
  FunctionStore store;
  store.add(kAlice, kFunction, "pickle", false);
  store.drop(kAlice, kFunction);
  store.drop(kAlice, kFunction);
  store.add(kAlice, kFunction, "pickle", false);
  EXPECT_EQ(store.bytes(), 6u);
}

// A session could leave a function of its own under the id of another's.
TEST(FunctionStoreTest, KeepsNothingUnderAnIdThatIsNotTheContents) {
  FunctionStore store;
  EXPECT_FALSE(store.add(kOther, kFunction, "another pickle", false));
  EXPECT_EQ(store.find(kFunction), nullptr);
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_TRUE(store.add(kAlice, kFunction, "pickle", false));
  EXPECT_FALSE(store.add(kOther, kFunction, "another pickle", false));
  EXPECT_EQ(*store.find(kFunction)->bytes, "pickle");
}

}  // namespace
}  // namespace pounce::worker
