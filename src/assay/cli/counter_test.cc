#include "assay/cli/counter.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

std::string Counted(bool shown) {
  std::FILE* file = std::tmpfile();
  {
    Counter counter(file, shown, "step", 2);
    counter.Tick();
    counter.Tick();
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

TEST(Counter, CountsAndLeavesNothing) {
  EXPECT_EQ(Counted(true), "\rstep 0/2\x1b[K\rstep 1/2\x1b[K\rstep 2/2\x1b[K\r\x1b[K");
  EXPECT_EQ(Counted(false), "");
}

}  // namespace
}  // namespace assay::cli
