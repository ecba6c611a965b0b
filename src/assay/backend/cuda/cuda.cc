#include "assay/backend/cuda/cuda.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "assay/backend/cuda/hash.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/memory.h"
#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "assay/ops/table.h"

namespace assay::cuda {
namespace {

constexpr int kLeastMajor = 8;

constexpr std::array<RunFn, op::kCount> kKernels = {
#define ASSAY_ENTRY_Elementwise(name) nullptr,
#define ASSAY_ENTRY_General(name) &Run_##name,
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ENTRY_##kind(name)
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
#undef ASSAY_ENTRY_General
#undef ASSAY_ENTRY_Elementwise
};

class Stream {
 public:
  Stream() { Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    Check(status, "preparing a recorded step");
  }
  ~GraphRecording() override { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  void Replay() override { Check(cudaGraphLaunch(executable_, stream_), "launching a recorded step"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
  cudaStream_t stream_;
};

// Roots of one list of tensors, asked for again and again: a state.
struct HashedList {
  std::vector<DeviceBytes> tensors;
  std::unique_ptr<RootsHasher> hasher;
  Allocation roots;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const cudaDeviceProp& device, const Tuning& tuning)
      : memory_(stream_.get()), context_(stream_.get(), device, tuning) {}
  // What is still running must not lose its memory.
  ~CudaBackend() override { static_cast<void>(cudaStreamSynchronize(stream_.get())); }

  std::string_view name() const override { return "cuda"; }
  Context& context() { return context_; }
  MemorySpace& memory() override { return memory_; }

  void Run(const KernelArgs& args) override {
    const RunFn run = kKernels[args.op->def->index];
    if (run != nullptr) return run(args, context_);
    Group group{.elements = args.out_type(0).elements(), .nodes = {}, .flushes = {}, .slots = 0};
    GroupNode& node = group.nodes.emplace_back();
    node.op = args.op;
    for (std::size_t k = 0; k < args.in.size(); ++k) {
      node.in.push_back({.base = const_cast<char*>(static_cast<const char*>(args.in[k])),
                         .aligned = (args.op->def->aligned_inputs >> k & 1) != 0,
                         .element_bytes = static_cast<std::uint32_t>(SizeOf(args.in_type(k).dtype))});
    }
    for (std::size_t k = 0; k < args.out.size(); ++k) {
      node.out.push_back({.base = static_cast<char*>(args.out[k]),
                          .element_bytes = static_cast<std::uint32_t>(SizeOf(args.out_type(k).dtype))});
    }
    RunElementGroup(group, context_);
  }
  void RunGroup(const Group& group) override { RunElementGroup(group, context_); }
  bool in_place() const override { return true; }
  bool LeaveOutProducts(bool leave) override {
    context_.leaves_out_products = leave;
    return true;
  }

  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override {
    const HashedList& list = ListOf(tensors);
    list.hasher->Enqueue(list.roots.data(), stream_.get());
    return Download(list.roots.data(), tensors.size());
  }

  void QueueLeafHashes(ByteSpan tensor) override {
    const std::size_t leaves = CountLeaves(tensor.size());
    if (!stage_) stage_.emplace(kStageLeaves);
    if (leaves > stage_->room()) HashStage();
    if (leaves <= kStageLeaves) {
      stage_->Add({tensor.data(), tensor.size()}, stream_.get());
    } else {
      EnqueueLeafHashes({tensor.data(), tensor.size()}, PlaceForHashes(leaves), stream_.get());
    }
  }
  std::vector<Digest> TakeLeafHashes() override {
    HashStage();
    FetchHashes();
    return std::exchange(fetched_, {});
  }

  std::unique_ptr<Recording> Record(const std::function<void()>& work) override {
    Check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "recording a step");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream_.get(), &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
      throw;
    }
    Check(cudaStreamEndCapture(stream_.get(), &graph), "recording a step");
    return std::make_unique<GraphRecording>(graph, stream_.get());
  }

  std::size_t peak_bytes() const override { return PeakBytes(); }
  std::optional<std::size_t> free_bytes() const override {
    std::size_t free = 0, total = 0;
    Check(cudaMemGetInfo(&free, &total), "asking for free memory");
    return free;
  }
  void Wait() override { Check(cudaStreamSynchronize(stream_.get()), "computing on the GPU"); }

 private:
  static constexpr std::size_t kMaxLists = 4;
  static constexpr std::size_t kStageLeaves = 16384;                 // 64 MiB
  static constexpr std::size_t kHashesBytes = std::size_t{2} << 20;  // of four full stages

  const HashedList& ListOf(std::span<const ByteSpan> tensors) {
    const auto same = [&](const HashedList& list) {
      return std::ranges::equal(list.tensors, tensors,
                                [](const DeviceBytes& a, ByteSpan b) { return a.data == b.data() && a.bytes == b.size(); });
    };
    const auto found = std::ranges::find_if(lists_, same);
    if (found != lists_.end()) return *found;
    if (lists_.size() == kMaxLists) lists_.erase(lists_.begin());
    HashedList list;
    for (const ByteSpan tensor : tensors) list.tensors.push_back({tensor.data(), tensor.size()});
    list.hasher = std::make_unique<RootsHasher>(list.tensors);
    list.roots = Allocation(memory_, tensors.size() * sizeof(Digest));
    return lists_.emplace_back(std::move(list));
  }

  std::vector<Digest> Download(const void* from, std::size_t count) {
    static_assert(sizeof(Digest) == 32);
    std::vector<Digest> digests(count);
    memory_.CopyOut(digests.data(), from, count * sizeof(Digest));
    return digests;
  }

  void HashStage() {
    if (stage_ && stage_->leaves() > 0) stage_->EnqueueHashes(PlaceForHashes(stage_->leaves()), stream_.get());
  }

  // For so many hashes, behind those that are there already.
  void* PlaceForHashes(std::size_t count) {
    const std::size_t bytes = count * sizeof(Digest);
    if (hashes_bytes_ + bytes > hashes_.bytes()) {
      FetchHashes();
      if (bytes > hashes_.bytes()) hashes_ = Allocation(memory_, std::max(bytes, kHashesBytes));
    }
    void* const place = static_cast<char*>(hashes_.data()) + hashes_bytes_;
    hashes_bytes_ += bytes;
    return place;
  }

  void FetchHashes() {
    const std::size_t before = fetched_.size();
    fetched_.resize(before + hashes_bytes_ / sizeof(Digest));
    memory_.CopyOut(fetched_.data() + before, hashes_.data(), hashes_bytes_);
    hashes_bytes_ = 0;
  }

  Stream stream_;
  DeviceMemory memory_;
  Context context_;
  std::vector<HashedList> lists_;
  // Queued pieces: leaves that are not hashed yet, hashes on the device, and those before them on the host.
  std::optional<LeafStage> stage_;
  Allocation hashes_;
  std::size_t hashes_bytes_ = 0;
  std::vector<Digest> fetched_;
};

std::string VersionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Result<cudaDeviceProp> FirstDevice() {
  int driver = 0, runtime = 0, count = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (driver == 0) return Err("--device cuda: no NVIDIA driver is installed here; --device cpu gives the same bytes");
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    return Err("--device cuda: the NVIDIA driver supports CUDA {}, this build needs {}; --device cpu gives the same bytes",
               VersionText(driver), VersionText(runtime));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    return Err("--device cuda: the NVIDIA driver finds no GPU here; --device cpu gives the same bytes");
  }
  if (status != cudaSuccess) return Err("--device cuda: {} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
  cudaDeviceProp device;
  if (const cudaError_t got = cudaGetDeviceProperties(&device, 0); got != cudaSuccess) {
    return Err("--device cuda: {} ({})", cudaGetErrorString(got), cudaGetErrorName(got));
  }
  if (device.major < kLeastMajor) {
    return Err("--device cuda: {} has compute capability {}.{}, {}.0 is the least; --device cpu gives the same bytes",
               device.name, device.major, device.minor, kLeastMajor);
  }
  return device;
}

}  // namespace

Result<DeviceInfo> FindDevice() {
  ASSAY_ASSIGN(const cudaDeviceProp device, FirstDevice());
  DeviceInfo info{
      .name = device.name, .major = device.major, .minor = device.minor, .multiprocessors = device.multiProcessorCount};
  static_cast<void>(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  static_cast<void>(cudaDriverGetVersion(&info.driver_version));
  static_cast<void>(cudaRuntimeGetVersion(&info.runtime_version));
  return info;
}

Context& ContextOf(Backend& backend) { return static_cast<CudaBackend&>(backend).context(); }

Result<std::unique_ptr<Backend>> MakeCudaBackend() { return MakeCudaBackend(Tuning{}); }

Result<std::unique_ptr<Backend>> MakeCudaBackend(const Tuning& tuning) {
  ASSAY_ASSIGN(const cudaDeviceProp device, FirstDevice());
  try {
    return std::make_unique<CudaBackend>(device, tuning);
  } catch (const DeviceError& error) {
    return Err("--device cuda: {}", error.what());
  }
}

}  // namespace assay::cuda
