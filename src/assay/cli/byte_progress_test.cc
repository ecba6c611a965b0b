#include "assay/cli/byte_progress.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

std::string Said(std::FILE* stream) {
  std::rewind(stream);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  return text;
}

TEST(ByteProgress, TellsRateAndTimeLeftOfWhatWasDoneHere) {
  std::FILE* stream = std::tmpfile();
  ByteProgress progress(stream, ProgressMode::kLines, "packed");
  progress.Update(50'000'000, 200'000'000, 10);
  EXPECT_EQ(Said(stream), "assay: going on after 47.7 MiB of 191 MiB\n");
  progress.Update(90'000'000, 200'000'000, 12);
  EXPECT_EQ(progress.Line(), "packed 85.8 MiB of 191 MiB  45%  20.0 MB/s  ETA 5.5s");
  EXPECT_EQ(Said(stream), "assay: going on after 47.7 MiB of 191 MiB\n") << "a line every few seconds only";
  progress.Update(150'000'000, 200'000'000, 15);
  EXPECT_EQ(Said(stream), "assay: going on after 47.7 MiB of 191 MiB\n" + progress.Line() + "\n");
  std::fclose(stream);
}

TEST(ByteProgress, IsQuietWhenAskedTo) {
  std::FILE* stream = std::tmpfile();
  ByteProgress progress(stream, ProgressMode::kQuiet, "packed");
  progress.Update(1, 2, 0);
  progress.Update(2, 2, 100);
  progress.Finish();
  EXPECT_EQ(Said(stream), "");
  std::fclose(stream);
}

}  // namespace
}  // namespace assay::cli
