#include "assay/cli/colour.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace assay::cli {
namespace {

// A stream on a terminal of its own; null where the system has none.
std::FILE* OpenTerminal() {
  const int main = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (main < 0 || ::grantpt(main) != 0 || ::unlockpt(main) != 0) return nullptr;
  const char* name = ::ptsname(main);
  return name == nullptr ? nullptr : std::fopen(name, "w");
}

TEST(Colour, OnATerminalUnlessNoColorIsSet) {
  std::FILE* terminal = OpenTerminal();
  if (terminal == nullptr) GTEST_SKIP() << "no terminals here";
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_EQ(Painted("REFUTED", Tone::kBad, terminal), "\x1b[1;31mREFUTED\x1b[0m");
  EXPECT_EQ(PaintedWord("VALID", 8, Tone::kGood, terminal), "\x1b[1;32mVALID\x1b[0m   ");
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(Painted("REFUTED", Tone::kBad, terminal), "REFUTED");
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(HasColours(terminal));
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(HasColours(terminal));
  ::unsetenv("NO_COLOR");
  std::fclose(terminal);
}

TEST(Colour, NoneInAFile) {
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(Painted("REFUTED", Tone::kBad, file), "REFUTED");
  EXPECT_EQ(PaintedWord("VALID", 8, Tone::kGood, file), "VALID   ");
  EXPECT_EQ(PaintedWord("UNCHECKED", 3, Tone::kUnsure, file), "UNCHECKED");
  std::fclose(file);
}

}  // namespace
}  // namespace assay::cli
