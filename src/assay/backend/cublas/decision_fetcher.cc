#include "assay/backend/cublas/decision_fetcher.h"

#include <algorithm>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/kernels.h"

namespace assay::cublas {
namespace {

constexpr std::size_t kStaged = 1 << 16;  // decisions copied at a time

}  // namespace

DecisionFetcher::DecisionFetcher(cudaStream_t stream) : stream_(stream), slots_(kMarks) {
  cuda::Check(cudaStreamCreateWithFlags(&lists_, cudaStreamNonBlocking), "creating a stream");
  void* memory = nullptr;
  cuda::Check(cudaMallocHost(&memory, kStaged * sizeof(rounding::Decision)), "allocating memory for decisions");
  staged_ = static_cast<rounding::Decision*>(memory);
  for (Slot& slot : slots_) {
    cuda::Check(cudaEventCreateWithFlags(&slot.told, cudaEventDisableTiming | cudaEventBlockingSync), "creating an event");
    cuda::Check(cudaMallocHost(&memory, sizeof(unsigned long long)), "allocating memory for decisions");
    slot.count = static_cast<unsigned long long*>(memory);
  }
  thread_ = std::thread([this] { Work(); });
}

DecisionFetcher::~DecisionFetcher() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const Slot& slot : slots_) {
    static_cast<void>(cudaEventDestroy(slot.told));
    static_cast<void>(cudaFreeHost(slot.count));
  }
  static_cast<void>(cudaFreeHost(staged_));
  static_cast<void>(cudaStreamDestroy(lists_));
}

void DecisionFetcher::Begin(const unsigned long long* count, const rounding::Decision* taken, std::size_t room) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return marks_.empty(); });
  count_ = count;
  taken_ = taken;
  room_ = room;
  fetched_ = 0;
  failure_.clear();
  writer_ = {};
}

void DecisionFetcher::Mark() {
  {
    const std::lock_guard lock(mutex_);
    if (marks_.size() + 1 >= kMarks) return;
  }
  Put(next_slot_);
}

void DecisionFetcher::Put(std::size_t index) {
  const Slot& slot = slots_[index];
  TellCount(count_, slot.count, stream_);
  cuda::Check(cudaEventRecord(slot.told, stream_), "marking decisions");
  {
    const std::lock_guard lock(mutex_);
    marks_.push_back(index);
  }
  next_slot_ = (index + 1) % kMarks;
  changed_.notify_all();
}

rounding::DecisionLogWriter DecisionFetcher::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return marks_.size() + 1 < kMarks; });
  lock.unlock();
  Put(next_slot_);
  lock.lock();
  changed_.wait(lock, [this] { return marks_.empty(); });
  if (!failure_.empty()) throw cuda::DeviceError(failure_);
  return std::move(writer_);
}

void DecisionFetcher::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stops_ || !marks_.empty(); });
    if (marks_.empty()) return;
    const Slot& slot = slots_[marks_.front()];
    lock.unlock();
    try {
      Fetch(slot);
    } catch (const std::exception& error) {
      if (failure_.empty()) failure_ = error.what();
    }
    lock.lock();
    marks_.pop_front();
    changed_.notify_all();
  }
}

void DecisionFetcher::Fetch(const Slot& slot) {
  cuda::Check(cudaEventSynchronize(slot.told), "computing on the GPU");
  if (*slot.count > room_) {
    throw cuda::DeviceError(
        fmt::format("GPU: {} roundings of a step are close calls; there is room for {}", *slot.count, room_));
  }
  sorted_.clear();
  while (fetched_ < *slot.count) {
    const std::size_t n = std::min<std::size_t>(kStaged, *slot.count - fetched_);
    cuda::Check(cudaMemcpyAsync(staged_, taken_ + fetched_, n * sizeof(rounding::Decision), cudaMemcpyDeviceToHost, lists_),
                "copying from the GPU");
    cuda::Check(cudaStreamSynchronize(lists_), "copying from the GPU");
    sorted_.insert(sorted_.end(), staged_, staged_ + n);
    fetched_ += n;
  }
  std::ranges::sort(sorted_, {}, &rounding::Decision::position);
  writer_.Add(sorted_);
}

}  // namespace assay::cublas
