// How a transfer is shared out in pieces, and what counts as there.
#include <gtest/gtest.h>

#include "bulk/exchange.h"

namespace pounce::bulk {
namespace {

constexpr std::uint64_t kPiece = Fetches::kPieceBytes;

std::vector<Target> targets(std::vector<std::uint64_t> sizes) {
  std::vector<Target> made;
  for (const std::uint64_t size : sizes) made.push_back({size, {}, {}, {}});
  return made;
}

std::vector<std::pair<Position, std::uint64_t>> all_pieces(Fetches& fetches) {
  std::vector<std::pair<Position, std::uint64_t>> pieces;
  while (auto piece = fetches.next()) pieces.emplace_back(piece->at, piece->size);
  return pieces;
}

TEST(FetchesTest, EachPieceIsGivenOutOnceAndEmptyBuffersHaveNone) {
  Fetches fetches;
  fetches.begin("a", targets({0, kPiece + 1, 0, 5}), {});

  const auto pieces = all_pieces(fetches);

  EXPECT_EQ(pieces, (std::vector<std::pair<Position, std::uint64_t>>{{{1, 0}, kPiece}, {{1, kPiece}, 1}, {{3, 0}, 5}}));
  EXPECT_EQ(fetches.bytes_left(), 0u);
}

TEST(FetchesTest, ATransferIsWholeWithItsLastPieceInWhateverOrderTheyCome) {
  Fetches fetches;
  fetches.begin("a", targets({3 * kPiece}), {});
  const auto first = *fetches.next(), second = *fetches.next(), third = *fetches.next();

  EXPECT_FALSE(fetches.came(third));
  EXPECT_FALSE(fetches.came(first));
  EXPECT_TRUE(fetches.came(second));
  EXPECT_EQ(fetches.reached("a"), std::nullopt) << "it is over";
}

TEST(FetchesTest, NotWholeWhileAPieceWasNotAskedFor) {
  Fetches fetches;
  fetches.begin("a", targets({2 * kPiece}), {});

  EXPECT_FALSE(fetches.came(*fetches.next()));
  EXPECT_EQ(fetches.reached("a"), (Position{0, kPiece}));
}

TEST(FetchesTest, BehindAGapNothingCountsAsReached) {
  Fetches fetches;
  fetches.begin("a", targets({4 * kPiece}), {});
  const auto first = *fetches.next(), second = *fetches.next(), third = *fetches.next();
  fetches.came(first);
  fetches.came(third);

  EXPECT_EQ(fetches.reached("a"), second.at);
}

TEST(FetchesTest, GoesOnWhereAnEarlierConnectionEnded) {
  Fetches fetches;
  fetches.begin("a", targets({kPiece, 10}), {1, 4});

  EXPECT_EQ(all_pieces(fetches), (std::vector<std::pair<Position, std::uint64_t>>{{{1, 4}, 6}}));
}

TEST(FetchesTest, WhatHasNothingLeftIsNotUnderWay) {
  Fetches fetches;
  fetches.begin("a", targets({0, 0}), {});
  fetches.begin("b", targets({7}), {0, 7});

  EXPECT_EQ(fetches.reached("a"), std::nullopt);
  EXPECT_EQ(fetches.reached("b"), std::nullopt);
}

TEST(FetchesTest, APieceOfATransferThatWasStoppedAndBegunAgainCountsForNothing) {
  Fetches fetches;
  fetches.begin("a", targets({5}), {});
  const auto late = *fetches.next();
  fetches.stop("a");
  fetches.begin("a", targets({5}), {});

  EXPECT_FALSE(fetches.came(late));
  EXPECT_EQ(fetches.reached("a"), (Position{0, 0}));
}

TEST(FetchesTest, OneTransferAfterTheOther) {
  Fetches fetches;
  fetches.begin("a", targets({5}), {});
  fetches.begin("b", targets({6}), {});

  EXPECT_EQ(fetches.next()->of, "a");
  EXPECT_EQ(fetches.next()->of, "b");
}

TEST(FetchesTest, OneThatIsUnderWayIsNotBegunASecondTime) {
  Fetches fetches;
  fetches.begin("a", targets({5}), {});
  fetches.begin("a", targets({5}), {});

  EXPECT_EQ(all_pieces(fetches).size(), 1u);
}

TEST(FetchesTest, SizesBeyondFourGibibytesAreCut) {
  Fetches fetches;
  const std::uint64_t size = (std::uint64_t{1} << 32) + 1;
  fetches.begin("a", targets({size}), {});
  EXPECT_EQ(fetches.bytes_left(), size);

  std::uint64_t sum = 0;
  Piece last;
  while (auto piece = fetches.next()) sum += piece->size, last = *piece;

  EXPECT_EQ(sum, size);
  EXPECT_EQ(last.at, (Position{0, size - 1}));
}

}  // namespace
}  // namespace pounce::bulk
