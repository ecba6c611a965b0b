// Turns the first SIGINT, SIGTERM or SIGHUP into a flag that the step loop reads; the second ends the process at once.
//
// At most one guard may exist at a time: signal dispositions belong to the process.
#pragma once

namespace assay {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();  // restores the default dispositions
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // The signal that has arrived; 0: none.
  int signal() const;
};

}  // namespace assay
