// A count on standard error of what takes long and prints nothing, such as a measurement: redrawn on a terminal, silent
// elsewhere, and gone at the end. Not synchronised.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace assay::cli {

class Counter {
 public:
  // "WHAT 0/TOTAL" until the first Tick. Shown where `shown`; see ProgressModeFor.
  Counter(std::FILE* stream, bool shown, std::string what, std::int64_t total);
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter();
  void Tick();

 private:
  void Draw() const;
  std::FILE* stream_;
  bool shown_;
  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
};

}  // namespace assay::cli
