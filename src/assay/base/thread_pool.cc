#include "assay/base/thread_pool.h"

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "assay/base/check.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay {

void SetIeeeFloatingPoint() {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80);  // the reset value: all exceptions masked, round to nearest, FTZ and DAZ clear
#elif defined(__aarch64__)
  const std::uint64_t fpcr = 0;
  asm volatile("msr fpcr, %0" : : "r"(fpcr));
#else
  std::fesetround(FE_TONEAREST);
#endif
}

namespace {

// How long an idle worker spins before it sleeps: kernels follow each other within microseconds.
constexpr int kSpins = 4000;

inline void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct ThreadPool::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> busy{0};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> next{0};
  std::int64_t n = 0;
  std::int64_t grain = 1;
  const std::function<void(std::int64_t, std::int64_t, int)>* body = nullptr;
  std::vector<std::thread> workers;

  void Work(int worker) {
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) return;
      SetIeeeFloatingPoint();
      (*body)(begin, begin + grain < n ? begin + grain : n, worker);
    }
  }

  void Loop(int worker) {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && generation.load(std::memory_order_acquire) == seen; ++spin) Pause();
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
      }
      seen = generation.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      Work(worker);
      busy.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void Publish() {
    {
      std::lock_guard lock(mutex);
      generation.fetch_add(1, std::memory_order_acq_rel);
    }
    wake.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads), shared_(std::make_unique<Shared>()) {
  ASSAY_CHECK(threads >= 1);
  for (int worker = 1; worker < threads; ++worker) {
    shared_->workers.emplace_back([shared = shared_.get(), worker] { shared->Loop(worker); });
  }
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true, std::memory_order_release);
  shared_->Publish();
  for (std::thread& worker : shared_->workers) worker.join();
}

void ThreadPool::ParallelFor(std::int64_t n, std::int64_t grain,
                             const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  Shared& s = *shared_;
  s.n = n;
  s.grain = grain;
  s.body = &body;
  s.next.store(0, std::memory_order_relaxed);
  if (threads_ == 1 || n <= grain) {
    s.Work(0);
    return;
  }
  ASSAY_CHECK(s.busy.load(std::memory_order_acquire) == 0);
  s.busy.store(threads_ - 1, std::memory_order_release);
  s.Publish();
  s.Work(0);
  while (s.busy.load(std::memory_order_acquire) != 0) Pause();
}

}  // namespace assay
