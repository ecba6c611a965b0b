// Products of digits on Hopper: the launch of digit_gemm-inl.h. Compiled for sm_90a alone.
#include <cuda.h>
#include <cudaTypedefs.h>

#include <algorithm>

#include "assay/backend/cuda/hopper/digit_gemm-inl.h"
#include "assay/base/check.h"

namespace assay::cuda::digits {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 FindEncoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  Check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found), "tensor maps");
  ASSAY_CHECK(found == cudaDriverEntryPointSuccess);
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

CUtensorMap MapOf(const DigitRows& rows, int n, int tile) {
  const auto depth = static_cast<cuuint64_t>(rows.depth), count = static_cast<cuuint64_t>(rows.rows);
  const cuuint64_t extents[3] = {depth, count, static_cast<cuuint64_t>(n)}, strides[2] = {depth, depth * count};
  const cuuint32_t box[3] = {kHalf, static_cast<cuuint32_t>(tile), 1}, steps[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status = FindEncoder()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, rows.digits, extents, strides, box, steps,
                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  ASSAY_CHECK(status == CUDA_SUCCESS);
  return map;
}

template <int n, bool lacks>
void LaunchOnHopper(DigitGemm g, Context& context) {
  constexpr int kTileN = TileN(n);
  g.tiles_m = static_cast<int>((g.m + kTileM - 1) / kTileM), g.tiles_n = static_cast<int>((g.n + kTileN - 1) / kTileN);
  g.pairs = g.n % 2 == 0 && g.stride % 2 == 0 && g.batch_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(g.out) % 8 == 0;
  // Thread blocks share tiles where there are enough tiles for nobody to wait long.
  std::int64_t grid = std::min<std::int64_t>(context.multiprocessors(), g.tiles());
  if (g.tiles() * 2 > context.multiprocessors()) {
    grid = std::min<std::int64_t>(context.multiprocessors(), g.tiles() * g.blocks);
  }
  g.waves = g.tiles() % grid == 0 ? g.tiles() / grid : std::max<std::int64_t>(0, g.tiles() / grid - 1);
  const auto kernel = MultiplyDigits<n, lacks>;
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Layout<n>::kBytes),
        "shared memory of a product of digits");
  Check(cudaMemsetAsync(g.flags, 0, static_cast<std::size_t>(grid) * 2 * sizeof(unsigned), context.stream()),
        "flags of a product of digits");
  kernel<<<static_cast<unsigned>(grid), 384, Layout<n>::kBytes, context.stream()>>>(g, MapOf(g.a, n, kTileM),
                                                                                    MapOf(g.b, n, kTileN));
  CheckLaunch("product of digits");
}

}  // namespace

bool RunsOnHopper() {
  int device = 0, major = 0, minor = 0;
  Check(cudaGetDevice(&device), "current device");
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "compute capability");
  Check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "compute capability");
  return major == 9 && minor == 0;
}

void MultiplyOnHopper(DigitGemm g, int digits, Context& context) {
  if (digits == 3) {
    g.lacks ? LaunchOnHopper<3, true>(g, context) : LaunchOnHopper<3, false>(g, context);
  } else {
    g.lacks ? LaunchOnHopper<2, true>(g, context) : LaunchOnHopper<2, false>(g, context);
  }
}

}  // namespace assay::cuda::digits
