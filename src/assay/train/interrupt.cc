#include "assay/train/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace assay {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void OnInterrupt(int signal) {
  if (received.exchange(signal) != 0) ::_exit(128 + signal);
}

void SetHandler(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // Of a terminal that is closed. Who began with it ignored (nohup) means to go on.
  struct sigaction before{};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received = 0;
  SetHandler(OnInterrupt);
}

InterruptGuard::~InterruptGuard() { SetHandler(SIG_DFL); }

int InterruptGuard::signal() const { return received; }

}  // namespace assay
