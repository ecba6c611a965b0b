// Progress of work that is measured in bytes on standard error: a bar that redraws itself on a terminal, a plain line every few seconds
// elsewhere. Time is passed in, so that what is shown is a function of the calls alone. Not synchronised.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "assay/cli/progress.h"

namespace assay::cli {

class ByteProgress {
 public:
  // `verb`: "packed".
  ByteProgress(std::FILE* stream, ProgressMode mode, std::string verb) : stream_(stream), mode_(mode), verb_(std::move(verb)) {}

  // The first call tells where the work goes on.
  void Update(std::uint64_t done, std::uint64_t all, double now_s);
  void Finish();

  // "packed 12.0 MiB of 1.00 GiB  1%  62.1 MB/s  ETA 15s"
  std::string Line() const;

 private:
  void Draw();
  std::FILE* stream_;
  ProgressMode mode_;
  std::string verb_;
  std::uint64_t first_ = 0, done_ = 0, all_ = 0;
  double first_s_ = 0, now_s_ = 0, shown_s_ = 0;
  bool started_ = false, bar_drawn_ = false;
};

}  // namespace assay::cli
