#include "assay/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(Nearest, FindsWhatWasMisspelt) {
  const std::vector<std::string> names = {"model", "data", "batch", "optimizer", "lr", "train"};
  EXPECT_EQ(Nearest("modle", names), "model");  // a swap
  EXPECT_EQ(Nearest("modl", names), "model");
  EXPECT_EQ(Nearest("optimiser", names), "optimizer");
  EXPECT_EQ(Nearest("trian", names), "train");
  EXPECT_EQ(Nearest("dta", names), "data");
}

TEST(Nearest, NamesNothingThatIsFar) {
  const std::vector<std::string> names = {"model", "data", "lr"};
  EXPECT_EQ(Nearest("commit", names), std::nullopt);
  EXPECT_EQ(Nearest("x", names), std::nullopt);
  EXPECT_EQ(Nearest("", names), std::nullopt);
  EXPECT_EQ(Nearest(std::string(1 << 20, 'm'), names), std::nullopt);
  EXPECT_EQ(Nearest("model", {}), std::nullopt);
}

}  // namespace
}  // namespace assay
