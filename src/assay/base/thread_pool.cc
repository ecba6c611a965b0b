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

// A call is open while its caller works; a worker joins an open call and leaves it when no index is left. The caller waits for those who joined,
// not for a worker that the operating system has not run yet: on a busy machine that worker would hold up everybody.
struct ThreadPool::Shared {
  static constexpr std::uint64_t kJoined = (std::uint64_t{1} << 20) - 1;  // low bits of `call`: how many workers have joined
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kNumber = std::uint64_t{1} << 21;  // high bits: the call's number

  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> call{0};
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

  std::uint64_t Number() const { return call.load(std::memory_order_acquire) / kNumber; }

  bool Join() {
    std::uint64_t seen = call.load(std::memory_order_acquire);
    while ((seen & kOpen) != 0) {
      if (call.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void Loop(int worker) {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && Number() == seen; ++spin) Pause();
      if (Number() == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return Number() != seen; });
      }
      seen = Number();
      if (stop.load(std::memory_order_acquire)) return;
      if (!Join()) continue;
      Work(worker);
      call.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void Open() {
    {
      std::lock_guard lock(mutex);
      call.store((call.load(std::memory_order_relaxed) / kNumber + 1) * kNumber + kOpen, std::memory_order_release);
    }
    wake.notify_all();
  }

  void Close() {
    call.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spin = 0; (call.load(std::memory_order_acquire) & kJoined) != 0; ++spin) {
      if (spin < kSpins) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
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
  shared_->Open();
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
  ASSAY_CHECK((s.call.load(std::memory_order_acquire) & (Shared::kOpen | Shared::kJoined)) == 0);  // not nested
  s.Open();
  s.Work(0);
  s.Close();
}

}  // namespace assay
