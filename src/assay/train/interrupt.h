// Turns the first SIGINT, SIGTERM or SIGHUP into a flag that the step loop reads; the second ends the process at once, with its last words, if it has any.
//
// At most one guard may exist at a time: signal dispositions belong to the process.
#pragma once

#include <string>

namespace assay {

class InterruptGuard {
 public:
  InterruptGuard() : InterruptGuard("", "") {}
  // What a second signal has said on standard error and standard output.
  InterruptGuard(std::string to_error, std::string to_output);
  ~InterruptGuard();  // restores the default dispositions
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // The signal that has arrived; 0: none.
  int signal() const;

 private:
  const std::string to_error_, to_output_;
};

}  // namespace assay
