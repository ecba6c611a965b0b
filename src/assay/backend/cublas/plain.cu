// The plain ops (assay/ops/plain_ops.inc). Those that only move values are the CUDA backend's.
#include "assay/backend/cublas/elements-inl.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/elements.h"
#include "assay/semantics/rounded/rough_elements.h"

namespace assay::cublas {
namespace {

using namespace numerics;  // where the table finds its functions
using namespace rounded;

constexpr Results kResults[] = {
#define ASSAY_OP(name, wire_id, version, kind, results) Results::k##results,
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
};

// Ops whose bound is dear, with one that is quickly had and leaves few roundings open.
template <OpIndex op>
struct RoughOf {
  static constexpr bool kKnown = false;
};

template <>
struct RoughOf<op::gelu_tanh> {
  static constexpr bool kKnown = true;
  static __device__ double Of(const float* x, double y) { return RoughGeluTanh(x[0], y); }
};

template <>
struct RoughOf<op::gelu_tanh_grad> {
  static constexpr bool kKnown = true;
  static __device__ double Of(const float* x, double) { return RoughGeluTanhGrad(x[0], x[1]); }
};

// Element is a line of the table.
template <OpIndex op, class Element>
struct Plain {
  static constexpr int kInputs = Element::kInputs;
  static constexpr Bounds kBounds = kResults[op] != Results::kBounded ? Bounds::kNone
                                    : RoughOf<op>::kKnown             ? Bounds::kRough
                                                                      : Bounds::kNear;
  template <class T>
  __device__ T Value(const float* x) const {
    return Element::template Value<T>(x);
  }
  __device__ double Rough(const float* x, double y) const { return RoughOf<op>::Of(x, y); }
};

template <OpIndex op, class Element>
void Run(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  if constexpr (kResults[op] != Results::kMoved) RunElements(args, sinks[0], context, Plain<op, Element>{});
}

#define ASSAY_UNARY_OP(name, bits, formula)           \
  struct Element_##name {                             \
    static constexpr int kInputs = 1;                 \
    template <class T>                                \
    static __device__ T Value(const float* operand) { \
      const float x = operand[0];                     \
      return formula;                                 \
    }                                                 \
  };
#define ASSAY_BINARY_OP(name, bits, formula)          \
  struct Element_##name {                             \
    static constexpr int kInputs = 2;                 \
    template <class T>                                \
    static __device__ T Value(const float* operand) { \
      const float x = operand[0], y = operand[1];     \
      return formula;                                 \
    }                                                 \
  };
#include "assay/ops/plain_ops.inc"
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

}  // namespace

#define ASSAY_UNARY_OP(name, bits, formula)                                                \
  void Run_##name(const KernelArgs& args, std::span<const Sink> sinks, Context& context) { \
    Run<op::name, Element_##name>(args, sinks, context);                                   \
  }
#define ASSAY_BINARY_OP ASSAY_UNARY_OP
#include "assay/ops/plain_ops.inc"
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

}  // namespace assay::cublas
