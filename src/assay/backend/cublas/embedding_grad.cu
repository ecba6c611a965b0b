// embedding_grad: positions sorted by their ids; every row of the table adds up the gradients of its own, ascending.
#include <tuple>

#include "assay/backend/cublas/kernels.h"
#include "assay/backend/cublas/running_sum.h"
#include "assay/backend/cuda/sort_positions-inl.h"

namespace assay::cublas {
namespace {

constexpr int kAhead = 8;  // gradients on their way while others are added

// Places [begin, end) of a row among the sorted positions; both zero where no position names it.
struct Places {
  std::int32_t begin, end;
};

__global__ void FindPlaces(cuda::Sorted sorted, std::int64_t positions, std::int64_t rows, Places* places) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= positions) return;
  const std::int32_t id = sorted.id[k];
  if (id < 0 || id >= rows) return;
  if (k == 0 || sorted.id[k - 1] != id) places[id].begin = static_cast<std::int32_t>(k);
  if (k + 1 == positions || sorted.id[k + 1] != id) places[id].end = static_cast<std::int32_t>(k + 1);
}

// A row for each block, a column for each thread.
template <class T>
__global__ void __launch_bounds__(kThreads) SumRows(const float* gradient, const std::int32_t* positions, const Places* places,
                                                    std::int64_t rows, std::int64_t width, const __grid_constant__ Sink sink) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const Places own = places[row];
    for (std::int64_t c = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x; c < width;
         c += gridDim.y * kThreads) {
      const auto term = [&](std::int32_t k) { return T(__ldg(gradient + __ldg(positions + k) * width + c)); };
      if (own.end - own.begin <= 1) {
        sink.Put(row * width + c, own.end > own.begin ? term(own.begin) : T(0.0f));
        continue;
      }
      RunningSum<T> sum;
      for (std::int32_t first = own.begin; first < own.end; first += kAhead) {
        T ahead[kAhead];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) ahead[a] = first + a < own.end ? term(first + a) : T(0.0f);
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
          if (first + a < own.end) sum.Add(ahead[a]);
        }
      }
      sink.Put(row * width + c, sum.Total());
    }
  }
}

}  // namespace

void Run_embedding_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const std::int64_t rows = args.out_type(0).shape[0], width = args.out_type(0).shape[1];
  const std::int64_t positions = args.in_type(0).elements();
  if (rows == 0 || width == 0) return;
  const auto cut = [&](Cutter cutter) {
    const cuda::Sorted sorted{.position = cutter.Take<std::int32_t>(positions), .id = cutter.Take<std::int32_t>(positions)};
    Places* places = cutter.Take<Places>(rows);
    return std::tuple(sorted, places, cutter.used());
  };
  const auto [sorted, places, bytes] = cut(Cutter(context.Scratch(std::get<2>(cut(Cutter())))));
  cuda::Check(cudaMemsetAsync(places, 0, static_cast<std::size_t>(rows) * sizeof(Places), context.stream()), "embedding_grad");
  cuda::SortPositionsOf(args.In<std::int32_t>(0), positions, sorted, cuda::kMaxSortThreads, context.stream());
  if (positions > 0) {
    FindPlaces<<<static_cast<unsigned>(cuda::CeilDiv(positions, kThreads)), kThreads, 0, context.stream()>>>(sorted, positions,
                                                                                                             rows, places);
    cuda::CheckLaunch("embedding_grad places");
  }
  const dim3 grid(cuda::GridFor(rows, 1), static_cast<unsigned>(std::min<std::int64_t>(cuda::CeilDiv(width, kThreads), 65535)));
  if (sinks[0].bounded()) {
    SumRows<Near><<<grid, kThreads, 0, context.stream()>>>(args.In<float>(1), sorted.position, places, rows, width, sinks[0]);
  } else {
    SumRows<double><<<grid, kThreads, 0, context.stream()>>>(args.In<float>(1), sorted.position, places, rows, width, sinks[0]);
  }
  cuda::CheckLaunch("embedding_grad");
}

}  // namespace assay::cublas
