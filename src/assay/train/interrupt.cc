#include "assay/train/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace assay {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

std::atomic<const char*> error_words{nullptr}, output_words{nullptr};

// Only what a signal handler may do.
void SayLast(int descriptor, const char* words) {
  if (words == nullptr || *words == '\0') return;
  const ssize_t written = ::write(descriptor, words, std::strlen(words));
  static_cast<void>(written);  // there is nobody left to tell
}

extern "C" void OnInterrupt(int signal) {
  if (received.exchange(signal) == 0) return;
  SayLast(STDOUT_FILENO, output_words);
  SayLast(STDERR_FILENO, error_words);
  ::_exit(128 + signal);
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

InterruptGuard::InterruptGuard(std::string to_error, std::string to_output)
    : to_error_(std::move(to_error)), to_output_(std::move(to_output)) {
  received = 0;
  error_words = to_error_.c_str();
  output_words = to_output_.c_str();
  SetHandler(OnInterrupt);
}

InterruptGuard::~InterruptGuard() {
  SetHandler(SIG_DFL);
  error_words = nullptr;
  output_words = nullptr;
}

int InterruptGuard::signal() const { return received; }

}  // namespace assay
