#include "assay/cli/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay::cli {
namespace {

std::string Written(std::FILE* file) {
  std::fflush(file);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  return text;
}

TEST(Progress, PlainLinesEveryFewSecondsAndAtTheEnd) {
  std::FILE* file = std::tmpfile();
  Progress progress(file, ProgressMode::kLines, 100, {"tokens", 2048});
  progress.Start(0, 0);
  for (int step = 1; step <= 100; ++step) progress.Step({.step = step, .loss = 2.5f, .lr = 0.001f}, 0.1 * step);
  progress.Finish();
  EXPECT_EQ(Written(file),
            "step 50/100  50%  loss 2.5000  lr 0.001  20.5k tokens/s  ETA 5.0s\n"
            "step 100/100 100%  loss 2.5000  lr 0.001  20.5k tokens/s  ETA 0.0s\n");
  std::fclose(file);
}

TEST(Progress, QuietShowsNotesAlone) {
  std::FILE* file = std::tmpfile();
  Progress progress(file, ProgressMode::kQuiet, 10, {"tokens", 1});
  progress.Start(0, 0);
  progress.Step({.step = 10, .loss = 1, .lr = 1}, 100);
  progress.Evaluation(10, 1);
  progress.Note("a snapshot is damaged");
  progress.Finish();
  EXPECT_EQ(Written(file), "assay: a snapshot is damaged\n");
  std::fclose(file);
}

TEST(Progress, BarRedrawsOneLineWithinTheWidth) {
  std::FILE* file = std::tmpfile();
  Progress progress(file, ProgressMode::kBar, 4, {"images", 64});
  progress.Start(0, 0);
  for (int step = 1; step <= 4; ++step) progress.Step({.step = step, .loss = 1, .lr = 0.5f}, step);
  progress.Finish();
  const std::string text = Written(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 4);
  std::fclose(file);
}

TEST(Progress, NarrowTerminalsLoseWholePartsAndKeepTheTimeThatIsLeft) {
  std::FILE* file = std::tmpfile();
  Progress progress(file, ProgressMode::kQuiet, 1000, {"tokens", 2048});
  progress.Start(0, 0);
  progress.Step({.step = 10, .loss = 2.5f, .lr = 0.001f}, 1);
  EXPECT_EQ(progress.Line(80), "step 10/1000   1%  loss 2.5000  lr 0.001  2.05k tokens/s  ETA 16m30s");
  EXPECT_EQ(progress.Line(60), "step 10/1000   1%  loss 2.5000  lr 0.001  ETA 16m30s");
  EXPECT_EQ(progress.Line(50), "step 10/1000   1%  loss 2.5000  ETA 16m30s");
  EXPECT_EQ(progress.Line(30), "step 10/1000   1%  ETA 16m30s");
  EXPECT_EQ(progress.Line(20), "ETA 16m30s");
  EXPECT_EQ(progress.Line(9), "");
  std::fclose(file);
}

TEST(Progress, AllOfItIsNotSaidBeforeTheLastStep) {
  std::FILE* file = std::tmpfile();
  Progress progress(file, ProgressMode::kQuiet, 1000, {"tokens", 1});
  progress.Start(0, 0);
  progress.Step({.step = 999, .loss = 1, .lr = 1}, 1);
  EXPECT_NE(progress.Line(200).find(" 99%"), std::string::npos) << progress.Line(200);
  progress.Step({.step = 1000, .loss = 1, .lr = 1}, 2);
  EXPECT_NE(progress.Line(200).find("100%"), std::string::npos) << progress.Line(200);
  std::fclose(file);
}

}  // namespace
}  // namespace assay::cli
