// Groups of elementwise ops as one kernel: each thread takes four neighbouring elements through all nodes of the group, in order. The nodes are a
// little program in the kernel's parameters; what stays inside the group lives in shared memory, four elements a thread and slot.
#include <algorithm>

#include "assay/backend/cuda/launch-inl.h"
#include "assay/base/check.h"
#include "assay/ops/table.h"

namespace assay::cuda {
namespace {

namespace nd = numerics::device;
using nd::Device;

constexpr int kMaxNodes = 32;
constexpr int kMaxInputs = 7;
constexpr int kMaxOutputs = 3;
constexpr int kMaxAxes = 8;
constexpr int kInMemory = -1;
constexpr int kVector = 4;
constexpr int kGroupThreads = 256;
constexpr std::size_t kMaxSlotBytes = 40 << 10;  // what a block may have without asking for more, less its own

struct Operand {
  float* base = nullptr;  // element 0
  int slot = kInMemory;
};

// How broadcast_to finds its source: a walk over merged axes, the last first; an axis of stride 0 is repeated.
struct Walk {
  int axes = 0;
  std::int64_t extent[kMaxAxes];
  std::int64_t stride[kMaxAxes];
};

struct Instruction {
  OpIndex op = 0;
  std::uint32_t draw_stream = 0, draw_threshold = 0;
  float number[4] = {};  // attributes
  bool flag = false;
  Operand in[kMaxInputs];
  Operand out[kMaxOutputs];
};

struct Flush {
  int slot = 0;
  float* to = nullptr;
};

struct GroupProgram {
  std::int64_t elements = 0;
  int nodes = 0, flushes = 0, walks = 0;
  Instruction code[kMaxNodes];
  Flush flush[kMaxNodes];
  Walk walk[kMaxNodes];  // of instruction i, where it is a broadcast
};
static_assert(sizeof(GroupProgram) < 32000, "parameters of a kernel");

// Four elements, of which `count` exist.
struct Four {
  float v[kVector];
};

// What all instructions of one thread share.
struct Thread {
  std::int64_t first;  // element
  int count;           // 4, or fewer at the end
  float4* slots;       // slot s of this thread is slots[s * blockDim.x]

  __device__ Four Load(const Operand& operand) const {
    Four x;
    if (operand.slot != kInMemory) {
      const float4 all = slots[operand.slot * static_cast<int>(blockDim.x)];
      x.v[0] = all.x, x.v[1] = all.y, x.v[2] = all.z, x.v[3] = all.w;
    } else if (count == kVector) {
      const float4 all = *reinterpret_cast<const float4*>(operand.base + first);
      x.v[0] = all.x, x.v[1] = all.y, x.v[2] = all.z, x.v[3] = all.w;
    } else {
#pragma unroll
      for (int k = 0; k < kVector; ++k) x.v[k] = k < count ? operand.base[first + k] : 0.0f;
    }
    return x;
  }

  __device__ void Store(const Operand& operand, const Four& x) const {
    if (operand.slot != kInMemory) {
      slots[operand.slot * static_cast<int>(blockDim.x)] = make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
    } else {
      StoreTo(operand.base, x);
    }
  }
  __device__ void StoreTo(float* base, const Four& x) const {
    if (count == kVector) {
      *reinterpret_cast<float4*>(base + first) = make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
    } else {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        if (k < count) base[first + k] = x.v[k];
      }
    }
  }

  template <class F>
  __device__ void Unary(const Instruction& i, F f) const {
    Four x = Load(i.in[0]);
#pragma unroll
    for (int k = 0; k < kVector; ++k) x.v[k] = Device::Canonical(f(x.v[k]));
    Store(i.out[0], x);
  }
  template <class F>
  __device__ void Binary(const Instruction& i, F f) const {
    Four x = Load(i.in[0]);
    const Four y = Load(i.in[1]);
#pragma unroll
    for (int k = 0; k < kVector; ++k) x.v[k] = Device::Canonical(f(x.v[k], y.v[k]));
    Store(i.out[0], x);
  }
};

// What an optimizer's elements share, computed once by each block.
union OptimizerScalars {
  numerics::AdamScalars adam;
  numerics::SgdScalars sgd;
};

struct Shared {
  const GroupProgram& program;
  const OptimizerScalars* scalars;  // by node
};

// The plain ops, which take their functions from nd, and those that differ from them by an attribute.
using namespace nd;
using P = Device;

#define ASSAY_UNARY_OP(name, bits, formula)                                                   \
  __device__ void Element_##name(const Instruction& i, int, const Thread& t, const Shared&) { \
    t.Unary(i, [&](float x) { return bits; });                                                \
  }
#define ASSAY_BINARY_OP(name, bits, formula)                                                  \
  __device__ void Element_##name(const Instruction& i, int, const Thread& t, const Shared&) { \
    t.Binary(i, [&](float x, float y) { return bits; });                                      \
  }
#include "assay/ops/plain_ops.inc"
ASSAY_UNARY_OP(scale, P::Mul(x, i.number[0]), )
ASSAY_UNARY_OP(add_scalar, P::Add(x, i.number[0]), )
ASSAY_UNARY_OP(pow, Pow<P>(x, i.number[0]), )
ASSAY_UNARY_OP(reshape, x, )
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

__device__ void Element_fill(const Instruction& i, int, const Thread& t, const Shared&) {
  const float value = Device::Canonical(i.number[0]);
  t.Store(i.out[0], {{value, value, value, value}});
}

// Source index of an element.
__device__ std::int64_t SourceOf(const Walk& walk, std::int64_t element) {
  std::int64_t index = 0;
  std::int64_t rest = element;
  for (int axis = 0; axis < walk.axes; ++axis) {
    const std::int64_t quotient = rest / walk.extent[axis];
    index += (rest - quotient * walk.extent[axis]) * walk.stride[axis];
    rest = quotient;
  }
  return index;
}

// The same below 2^32, where division is cheaper.
__device__ std::uint32_t SourceOf32(const Walk& walk, std::uint32_t element) {
  std::uint32_t index = 0;
  std::uint32_t rest = element;
  for (int axis = 0; axis < walk.axes; ++axis) {
    const auto extent = static_cast<std::uint32_t>(walk.extent[axis]);
    const std::uint32_t quotient = rest / extent;
    index += (rest - quotient * extent) * static_cast<std::uint32_t>(walk.stride[axis]);
    rest = quotient;
  }
  return index;
}

__device__ void Element_broadcast_to(const Instruction& i, int node, const Thread& t, const Shared& shared) {
  const Walk& walk = shared.program.walk[node];
  const float* source = i.in[0].base;
  Four x;
  if (shared.program.elements < (std::int64_t{1} << 32)) {
    const auto first = static_cast<std::uint32_t>(t.first);
    // Four elements inside one run of the last axis need one division.
    if (walk.axes > 0 && walk.extent[0] % kVector == 0) {
      const std::uint32_t index = SourceOf32(walk, first);
      const auto step = static_cast<std::uint32_t>(walk.stride[0]);
#pragma unroll
      for (int k = 0; k < kVector; ++k)
        x.v[k] = k < t.count ? Device::Canonical(source[index + static_cast<std::uint32_t>(k) * step]) : 0.0f;
    } else {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        x.v[k] = k < t.count ? Device::Canonical(source[SourceOf32(walk, first + static_cast<std::uint32_t>(k))]) : 0.0f;
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < kVector; ++k) x.v[k] = k < t.count ? Device::Canonical(source[SourceOf(walk, t.first + k)]) : 0.0f;
  }
  t.Store(i.out[0], x);
}

// The four elements of a thread are the four draws of one block.
__device__ void Element_dropout(const Instruction& i, int, const Thread& t, const Shared&) {
  const auto* rng = reinterpret_cast<const std::uint32_t*>(i.in[1].base);
  const numerics::DrawKey key = numerics::MakeDrawKey(rng, i.draw_stream);
  const PhiloxBlock draws = numerics::DrawBlock(key, static_cast<std::uint32_t>(t.first / kVector));
  Four x = t.Load(i.in[0]);
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    x.v[k] = draws[k] >= i.draw_threshold ? Device::Canonical(Device::Mul(x.v[k], i.number[0])) : 0.0f;
  }
  t.Store(i.out[0], x);
}

__device__ void Element_sgd(const Instruction& i, int node, const Thread& t, const Shared& shared) {
  Four p = t.Load(i.in[0]), m = t.Load(i.in[2]);
  const Four g = t.Load(i.in[1]);
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    nd::SgdUpdate<Device>(shared.scalars[node].sgd, g.v[k], p.v[k], m.v[k]);
    p.v[k] = Device::Canonical(p.v[k]);
    m.v[k] = Device::Canonical(m.v[k]);
  }
  t.Store(i.out[0], p);
  t.Store(i.out[1], m);
}

__device__ void Element_adam(const Instruction& i, int node, const Thread& t, const Shared& shared) {
  Four p = t.Load(i.in[0]), m = t.Load(i.in[2]), v = t.Load(i.in[3]);
  const Four g = t.Load(i.in[1]);
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    nd::AdamUpdate<Device>(shared.scalars[node].adam, g.v[k], p.v[k], m.v[k], v.v[k]);
    p.v[k] = Device::Canonical(p.v[k]);
    m.v[k] = Device::Canonical(m.v[k]);
    v.v[k] = Device::Canonical(v.v[k]);
  }
  t.Store(i.out[0], p);
  t.Store(i.out[1], m);
  t.Store(i.out[2], v);
}

__device__ void Element_adamw(const Instruction& i, int node, const Thread& t, const Shared& shared) {
  Element_adam(i, node, t, shared);
}

__device__ void MakeScalars(const Instruction& i, OptimizerScalars& scalars) {
  if (i.op == op::sgd) {
    scalars.sgd = nd::MakeSgdScalars<Device>(i.number[0], i.number[1], i.number[2], i.flag, *i.in[3].base, *i.in[4].base);
  } else if (i.op == op::adam || i.op == op::adamw) {
    scalars.adam =
        nd::MakeAdamScalars<Device>(i.number[0], i.number[1], i.number[2], i.number[3], i.op == op::adamw, *i.in[4].base,
                                    *i.in[5].base, *reinterpret_cast<const std::int64_t*>(i.in[6].base));
  }
}

__device__ __forceinline__ void Execute(const Instruction& i, int node, const Thread& t, const Shared& shared) {
  switch (i.op) {
#define ASSAY_CASE_Elementwise(name) \
  case op::name: return Element_##name(i, node, t, shared);
#define ASSAY_CASE_General(name)
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_CASE_##kind(name)
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
#undef ASSAY_CASE_General
#undef ASSAY_CASE_Elementwise
  }
}

__global__ void __launch_bounds__(kGroupThreads) RunGroupKernel(const __grid_constant__ GroupProgram program) {
  extern __shared__ float4 slots[];
  __shared__ OptimizerScalars scalars[kMaxNodes];
  for (int node = static_cast<int>(threadIdx.x); node < program.nodes; node += static_cast<int>(blockDim.x)) {
    MakeScalars(program.code[node], scalars[node]);
  }
  __syncthreads();
  const Shared shared{program, scalars};
  const std::int64_t step = GlobalThreads<std::int64_t>() * kVector;
  for (std::int64_t first = GlobalThread<std::int64_t>() * kVector; first < program.elements; first += step) {
    const Thread thread{first, static_cast<int>(min(static_cast<std::int64_t>(kVector), program.elements - first)),
                        slots + threadIdx.x};
    for (int node = 0; node < program.nodes; ++node) Execute(program.code[node], node, thread, shared);
    for (int f = 0; f < program.flushes; ++f)
      thread.StoreTo(program.flush[f].to, thread.Load({nullptr, program.flush[f].slot}));
  }
}

Operand ToOperand(const GroupArgument& argument) {
  Operand operand;
  if (argument.slot == GroupArgument::kInMemory) {
    operand.base = reinterpret_cast<float*>(argument.base);
  } else {
    operand.slot = static_cast<int>(argument.slot);
  }
  return operand;
}

// Neighbouring axes that are repeated together, or walked together, count as one.
Walk WalkOf(const Shape& from, const Shape& to) {
  Walk walk;
  std::int64_t stride = 1;
  bool repeats = false;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const std::int64_t extent = to.Back(axis);
    const bool repeated = axis >= from.rank() || from.Back(axis) == 1;
    if (extent == 1) continue;
    if (walk.axes > 0 && repeats == repeated) {
      walk.extent[walk.axes - 1] *= extent;
    } else {
      walk.extent[walk.axes] = extent;
      walk.stride[walk.axes] = repeated ? 0 : stride;
      ++walk.axes;
      repeats = repeated;
    }
    if (!repeated) stride *= extent;
  }
  return walk;
}

Instruction Compile(const GroupNode& node) {
  ASSAY_CHECK(node.in.size() <= kMaxInputs && node.out.size() <= kMaxOutputs);
  Instruction i;
  i.op = node.op->def->index;
  for (std::size_t k = 0; k < node.in.size(); ++k) i.in[k] = ToOperand(node.in[k]);
  for (std::size_t k = 0; k < node.out.size(); ++k) i.out[k] = ToOperand(node.out[k]);
  const Attrs& attrs = node.op->attrs;
  switch (i.op) {
    case op::fill: i.number[0] = attrs.Float(1); break;
    case op::scale:
    case op::add_scalar:
    case op::pow: i.number[0] = attrs.Float(0); break;
    case op::dropout:
      i.number[0] = numerics::DropoutFactor(attrs.Float(0));
      i.draw_threshold = numerics::DropoutThreshold(attrs.Float(0));
      i.draw_stream = static_cast<std::uint32_t>(attrs.Int(1));
      break;
    case op::sgd:
      for (std::size_t k = 0; k < 3; ++k) i.number[k] = attrs.Float(k);
      i.flag = attrs.Int(3) != 0;
      break;
    case op::adam:
    case op::adamw:
      for (std::size_t k = 0; k < 4; ++k) i.number[k] = attrs.Float(k);
      break;
    default: break;
  }
  return i;
}

}  // namespace

void RunElementGroup(const Group& group, Context& context) {
  if (group.elements == 0) return;
  ASSAY_CHECK(group.nodes.size() <= kMaxNodes && group.flushes.size() <= kMaxNodes);
  GroupProgram program;
  program.elements = group.elements;
  program.nodes = static_cast<int>(group.nodes.size());
  for (std::size_t n = 0; n < group.nodes.size(); ++n) {
    const GroupNode& node = group.nodes[n];
    program.code[n] = Compile(node);
    if (program.code[n].op == op::broadcast_to) program.walk[n] = WalkOf(node.op->in[0].shape, node.op->out[0].shape);
  }
  program.flushes = static_cast<int>(group.flushes.size());
  for (std::size_t f = 0; f < group.flushes.size(); ++f) {
    program.flush[f] = {static_cast<int>(group.flushes[f].slot), reinterpret_cast<float*>(group.flushes[f].to)};
  }
  int threads = ThreadsOr(context, kGroupThreads, kGroupThreads);
  while (group.slots * static_cast<std::size_t>(threads) * sizeof(float4) > kMaxSlotBytes && threads > 32) threads -= 32;
  const std::int64_t vectors = CeilDiv(group.elements, kVector);
  // Every thread takes the same number of turns, so that no block is left to finish alone; at most eight, so that a block that ends makes room early.
  const std::int64_t blocks = CeilDiv(vectors, threads);
  const std::int64_t turns = std::clamp<std::int64_t>(CeilDiv(blocks, std::int64_t{context.multiprocessors()} * 8), 1, 8);
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(CeilDiv(blocks, turns), std::int64_t{1} << 30));
  const std::size_t slot_bytes = group.slots * static_cast<std::size_t>(threads) * sizeof(float4);
  RunGroupKernel<<<grid, static_cast<unsigned>(threads), slot_bytes, context.stream()>>>(program);
  CheckLaunch("a group of elementwise ops");
}

}  // namespace assay::cuda
