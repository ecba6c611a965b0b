#include "assay/base/quote.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Quote, KeepsVisibleTextAndSpellsOutTheRest) {
  EXPECT_EQ(Quote("a b~"), "'a b~'");
  EXPECT_EQ(Quote("a\nb\xff"), "'a\\x0ab\\xff'");
  EXPECT_EQ(Quote(""), "''");
  EXPECT_EQ(Quote(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(OneLine("x\ty"), "x\\x09y");
}

TEST(Quote, WordsOfAShell) {
  EXPECT_EQ(ShellQuoted("runs/one-2.x"), "runs/one-2.x");
  EXPECT_EQ(ShellQuoted("my runs"), "'my runs'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted(""), "''");
}

}  // namespace
}  // namespace assay
