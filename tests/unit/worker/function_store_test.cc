#include "worker/interpreter/function_store.h"

#include <gtest/gtest.h>

#include "ids.h"

namespace pounce::worker {
namespace {

const SessionId kAlice = id_of<SessionId>(1), kOther = id_of<SessionId>(2);
const FunctionId kFunction = id_of<FunctionId>(7);

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
  store.add(kAlice, id_of<FunctionId>(8), "other", false);
  store.add(kOther, id_of<FunctionId>(8), "other", false);
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

}  // namespace
}  // namespace pounce::worker
