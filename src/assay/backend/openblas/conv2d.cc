// conv2d and its gradients as contractions, one per group, whose image operand is unfolded tile by tile. A tap outside an image takes part with zero.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "assay/backend/openblas/contraction.h"
#include "assay/backend/openblas/widen.h"
#include "assay/ops/conv2d_windows.h"

namespace assay::rounded {
namespace {

using Geometry = ops::Conv2dGeometry;
using ops::Windows;

// The first channel of a tap of a window; null outside the image.
const float* TapOf(const Windows& windows, std::int64_t window, std::int64_t tap) {
  const std::int64_t h = window / windows.columns % windows.rows * windows.step + windows.h.at(tap / windows.w.count);
  const std::int64_t w = window % windows.columns * windows.step + windows.w.at(tap % windows.w.count);
  if (h < 0 || h >= windows.height || w < 0 || w >= windows.width) return nullptr;
  return windows.image + ((window / (windows.columns * windows.rows) * windows.height + h) * windows.width + w) * windows.pixel;
}

// Line = window, k = (tap h, tap w, channel).
class WindowLines final : public OperandOf<WindowLines> {
 public:
  explicit WindowLines(Windows windows) : OperandOf(true), windows_(std::move(windows)) {}

  template <class T>
  void Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
            double* squares) const {
    for (std::int64_t l = 0; l < count; ++l) {
      for (std::int64_t k = k0; k < k0 + depth;) {
        const std::int64_t channel = k % windows_.channels;
        const std::int64_t run = std::min(windows_.channels - channel, k0 + depth - k);
        T* at = to + l * step + (k - k0);
        if (const float* tap = TapOf(windows_, first + l, k / windows_.channels); tap == nullptr) {
          std::fill_n(at, run, T{0});
        } else if (squares != nullptr) {
          squares[l] += WidenRow(tap + channel, run, at);
        } else {
          Widen(tap + channel, run, at);
        }
        k += run;
      }
    }
  }

 private:
  Windows windows_;
};

// Line = (tap h, tap w, channel), k = window.
class WindowTaps final : public OperandOf<WindowTaps> {
 public:
  explicit WindowTaps(Windows windows) : OperandOf(false), windows_(std::move(windows)) {}

  template <class T>
  void Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
            double* squares) const {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t l = 0; l < count;) {
        const std::int64_t channel = (first + l) % windows_.channels;
        const std::int64_t run = std::min(windows_.channels - channel, count - l);
        T* at = to + k * step + l;
        if (const float* tap = TapOf(windows_, k0 + k, (first + l) / windows_.channels); tap == nullptr) {
          std::fill_n(at, run, T{0});
        } else if (squares != nullptr) {
          WidenColumns(tap + channel, 0, 1, run, at, 0, squares + l);
        } else {
          Widen(tap + channel, run, at);
        }
        l += run;
      }
    }
  }

 private:
  Windows windows_;
};

// Weights [o, kh, kw, c] with line = c and k = (tap, o), for the given taps (indices into kh * kw).
class WeightTaps final : public OperandOf<WeightTaps> {
 public:
  WeightTaps(const float* weights, std::int64_t outputs, std::int64_t window, std::int64_t channels,
             std::vector<std::int64_t> taps)
      : OperandOf(false),
        weights_(weights),
        outputs_(outputs),
        stride_(window * channels),
        channels_(channels),
        taps_(std::move(taps)) {}

  template <class T>
  void Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
            double* squares) const {
    for (std::int64_t k = 0; k < depth;) {
      const std::int64_t output = (k0 + k) % outputs_, run = std::min(outputs_ - output, depth - k);
      const float* from =
          weights_ + output * stride_ + taps_[static_cast<std::size_t>((k0 + k) / outputs_)] * channels_ + first;
      if (squares != nullptr) {
        WidenColumns(from, stride_, run, count, to + k * step, step, squares);
      } else {
        for (std::int64_t o = 0; o < run; ++o) Widen(from + o * stride_, count, to + (k + o) * step);
      }
      k += run;
    }
  }

 private:
  const float* weights_;
  std::int64_t outputs_, stride_, channels_;
  std::vector<std::int64_t> taps_;
};

// Contractions together with what they point at.
struct Tasks {
  std::vector<Contraction> all;
  std::vector<std::unique_ptr<const Operand>> operands;
  std::deque<std::vector<std::int64_t>> rows;

  template <class T, class... Args>
  const Operand* Make(Args&&... args) {
    operands.push_back(std::make_unique<T>(std::forward<Args>(args)...));
    return operands.back().get();
  }
};

// dx at the pixels of one residue class per axis.
void AddGradXClass(const Geometry& g, std::int64_t group, std::int64_t residue_h, std::int64_t residue_w, const float* dy,
                   const float* weights, Tasks& tasks) {
  const ops::ResidueClass h(residue_h, g.h, g.kh, g.stride, g.pad), w(residue_w, g.w, g.kw, g.stride, g.pad);
  const Windows windows = ops::GradXWindows(g, h, w, dy);
  tasks.rows.push_back(ops::PixelsOf(g, h, w, group * g.group_c()));
  tasks.all.push_back({.m = windows.count(),
                       .n = g.group_c(),
                       .k = windows.size(),
                       .a = IsPlain(g) ? tasks.Make<RowLines>(dy, g.o) : tasks.Make<WindowLines>(windows),
                       .b = tasks.Make<WeightTaps>(weights, g.group_o(), g.kh * g.kw, g.group_c(), ops::KernelTaps(g, h, w)),
                       .rows = tasks.rows.back().data()});
}

}  // namespace

void Run_conv2d(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const Geometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t depth = g.kh * g.kw * g.group_c();
  Tasks tasks;
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    tasks.all.push_back({.m = g.n * g.oh * g.ow,
                         .n = g.group_o(),
                         .k = depth,
                         .a = IsPlain(g) ? tasks.Make<RowLines>(x, g.c) : tasks.Make<WindowLines>(ops::ForwardWindows(g, x)),
                         .b = tasks.Make<RowLines>(args.In<float>(1) + group * g.group_o() * depth, depth),
                         .origin = group * g.group_o(),
                         .row_stride = g.o});
  }
  RunContractions(tasks.all, outputs[0], context);
}

void Run_conv2d_grad_x(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const Geometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  Tasks tasks;
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* dy = args.In<float>(0) + group * g.group_o();
    const float* weights = args.In<float>(1) + group * g.group_o() * g.kh * g.kw * g.group_c();
    for (std::int64_t h = 0; h < std::min(g.stride, g.h); ++h) {
      for (std::int64_t w = 0; w < std::min(g.stride, g.w); ++w) AddGradXClass(g, group, h, w, dy, weights, tasks);
    }
  }
  RunContractions(tasks.all, outputs[0], context);
}

void Run_conv2d_grad_w(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const Geometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t window = g.kh * g.kw * g.group_c();
  Tasks tasks;
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    tasks.all.push_back({.m = g.group_o(),
                         .n = window,
                         .k = g.n * g.oh * g.ow,
                         .a = tasks.Make<ColumnLines>(args.In<float>(1) + group * g.group_o(), g.o),
                         .b = IsPlain(g) ? tasks.Make<ColumnLines>(x, g.c) : tasks.Make<WindowTaps>(ops::ForwardWindows(g, x)),
                         .origin = group * g.group_o() * window,
                         .row_stride = window});
  }
  RunContractions(tasks.all, outputs[0], context);
}

}  // namespace assay::rounded
