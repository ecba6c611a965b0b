// Hopper's matrix instructions on 8-bit integers and its bulk copies, as functions. For .cu files that are compiled for sm_90a alone.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace assay::cuda::hopper {

__device__ __forceinline__ std::uint32_t SharedAddress(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// Barriers in shared memory that count arrivals and bytes copied.
__device__ __forceinline__ void InitBarrier(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(arrivals));
}
__device__ __forceinline__ void Arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}
__device__ __forceinline__ void ArriveExpecting(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(bytes) : "memory");
}
// Returns when the phase of this parity has ended.
__device__ __forceinline__ void Await(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(parity)
      : "memory");
}

// A box of a tensor, or a row of bytes (a multiple of 16), to shared memory; the barrier counts its bytes.
__device__ __forceinline__ void CopyBox(void* to, const CUtensorMap* map, int x, int y, int z, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(SharedAddress(barrier))
      : "memory");
}
__device__ __forceinline__ void CopyBytes(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(SharedAddress(to)),
      "l"(from), "r"(bytes), "r"(SharedAddress(barrier))
      : "memory");
}

// Rows of 128 bytes along K, swizzled by 128 bytes as bulk copies leave them.
__device__ __forceinline__ std::uint64_t Operand(const void* tile) {
  constexpr std::uint64_t kEightRows = 1024 >> 4, kSwizzle128 = 1;
  return std::uint64_t{(SharedAddress(tile) & 0x3ffffu) >> 4} | std::uint64_t{1} << 16 | kEightRows << 32 | kSwizzle128 << 62;
}
// The same, `bytes` further along K.
__device__ __forceinline__ std::uint64_t Along(std::uint64_t operand, int bytes) {
  return operand + static_cast<unsigned>(bytes >> 4);
}

__device__ __forceinline__ void BeginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void CommitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when at most `left` of the committed groups are still at work.
template <int left>
__device__ __forceinline__ void AwaitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
// Nothing that uses these registers is moved across.
template <int n>
__device__ __forceinline__ void Pin(std::int32_t (&d)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

template <int registers>
__device__ __forceinline__ void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// d (+)= a · bᵀ over 32 values of K, for 64 rows of a and `n` rows of b. The four warps of a group work together; element 4j + 2r + c of thread t is at
// row 16·(t / 32) + t % 32 / 4 + 8·r and column 8·j + 2·(t % 4) + c.
template <int n>
__device__ void MultiplyAdd(std::int32_t (&d)[n / 2], std::uint64_t a, std::uint64_t b, bool onto);

#define ASSAY_EIGHT(i) \
  "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7])

template <>
__device__ __forceinline__ void MultiplyAdd<128>(std::int32_t (&d)[64], std::uint64_t a, std::uint64_t b, bool onto) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p;\n"
      "}\n"
      : ASSAY_EIGHT(0), ASSAY_EIGHT(8), ASSAY_EIGHT(16), ASSAY_EIGHT(24), ASSAY_EIGHT(32), ASSAY_EIGHT(40), ASSAY_EIGHT(48),
        ASSAY_EIGHT(56)
      : "l"(a), "l"(b), "r"(static_cast<int>(onto)));
}

template <>
__device__ __forceinline__ void MultiplyAdd<192>(std::int32_t (&d)[96], std::uint64_t a, std::uint64_t b, bool onto) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k32.s32.s8.s8 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
      "%96, %97, p;\n"
      "}\n"
      : ASSAY_EIGHT(0), ASSAY_EIGHT(8), ASSAY_EIGHT(16), ASSAY_EIGHT(24), ASSAY_EIGHT(32), ASSAY_EIGHT(40), ASSAY_EIGHT(48),
        ASSAY_EIGHT(56), ASSAY_EIGHT(64), ASSAY_EIGHT(72), ASSAY_EIGHT(80), ASSAY_EIGHT(88)
      : "l"(a), "l"(b), "r"(static_cast<int>(onto)));
}

#undef ASSAY_EIGHT

}  // namespace assay::cuda::hopper
