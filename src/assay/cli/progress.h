// Progress of a training on standard error: a bar that redraws itself on a terminal, a plain line every few seconds elsewhere.
//
// Time is passed in, so that what is shown is a function of the calls alone. Not synchronised.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "assay/train/prepare.h"
#include "assay/train/trainer.h"

namespace assay::cli {

enum class ProgressMode { kQuiet, kLines, kBar };

// A bar when `stream` is a terminal that can redraw lines.
ProgressMode ProgressModeFor(std::FILE* stream, bool quiet);

// Columns of a terminal; 80 where it does not say.
std::size_t TerminalWidth(std::FILE* stream);

class Progress {
 public:
  Progress(std::FILE* stream, ProgressMode mode, std::int64_t steps, Throughput throughput)
      : stream_(stream), mode_(mode), steps_(steps), throughput_(throughput) {}

  void Start(std::int64_t first_step, double now_s);
  void Step(const StepReport& report, double now_s);
  void Evaluation(std::int64_t step, float loss);
  void Note(const std::string& text);  // a whole line, also when quiet
  void Finish();

  // What a line or the bar says: "step 120/5000  2%  loss 2.3121  val 2.4  12.3k tokens/s  ETA 2m10s", at most `width` columns. Where that is
  // too narrow whole parts are left out; the time that is left goes last.
  std::string Line(std::size_t width) const;

 private:
  void Draw();
  void EraseBar();
  std::FILE* stream_;
  ProgressMode mode_;
  std::int64_t steps_;
  Throughput throughput_;
  StepReport last_;
  std::optional<float> validation_;
  double last_step_s_ = 0;
  double shown_s_ = 0;
  double seconds_per_step_ = 0;  // smoothed; 0 until the first step is done
  bool bar_drawn_ = false;
};

}  // namespace assay::cli
