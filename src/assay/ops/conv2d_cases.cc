#include "assay/ops/conv2d_cases.h"

#include <fmt/format.h>

#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"

namespace assay::ops {
namespace {

struct Geometry {
  std::string name;
  Shape x, weights;
  std::int64_t stride, pad, groups;
  bool gradient = false;
  Fill fill = Fill::kNormal;
  int digits = 0;
};

// Tails in every extent, K across the block of 256, windows that hang over the edge, and pixels that no window reaches.
std::vector<Geometry> Geometries() {
  return {
      {"one", {1, 1, 1, 1}, {1, 1, 1, 1}, 1, 0, 1},
      {"3x3", {2, 7, 9, 5}, {6, 3, 3, 5}, 1, 1, 1},
      {"3x3_stride2", {2, 8, 11, 16}, {33, 3, 3, 16}, 2, 1, 1},
      {"3x3_k_blocks", {1, 6, 5, 64}, {17, 3, 3, 64}, 1, 1, 1},
      {"7x7_stem", {1, 17, 15, 3}, {16, 7, 7, 3}, 2, 3, 1},
      {"1x1", {2, 5, 7, 40}, {24, 1, 1, 40}, 1, 0, 1},
      {"1x1_stride2", {2, 7, 6, 20}, {31, 1, 1, 20}, 2, 0, 1},
      {"1x1_k_blocks", {1, 3, 5, 300}, {19, 1, 1, 300}, 1, 0, 1},
      {"1x3", {1, 4, 9, 3}, {5, 1, 3, 3}, 1, 1, 1},
      {"2x1_stride3_uncovered", {1, 8, 10, 4}, {3, 2, 1, 4}, 3, 0, 1},
      {"wide_pad", {1, 3, 3, 2}, {4, 3, 3, 2}, 1, 4, 1},
      {"groups2", {2, 6, 6, 8}, {10, 3, 3, 4}, 1, 1, 2},
      {"depthwise", {1, 9, 8, 18}, {18, 3, 3, 1}, 2, 1, 18},
      {"many_positions", {3, 19, 17, 4}, {8, 3, 3, 4}, 1, 1, 1},
      {"special", {2, 6, 6, 5}, {7, 3, 3, 5}, 1, 1, 1, false, Fill::kSpecial},
      {"grad_3x3", {2, 4, 4, 2}, {3, 3, 3, 2}, 1, 1, 1, true},
      {"grad_3x3_stride2", {1, 5, 6, 2}, {2, 3, 3, 2}, 2, 1, 1, true},
      {"grad_groups2", {1, 4, 4, 4}, {2, 2, 2, 2}, 1, 0, 2, true},
  };
}

// The same shapes, and channels and images of more than a block.
std::vector<Geometry> GeometriesByDigits() {
  std::vector<Geometry> all;
  for (const int digits : {2, 3}) {
    std::vector<Geometry> geometries = Geometries();
    geometries.push_back({"3x3_channels", {2, 4, 5, 257}, {11, 3, 3, 257}, 1, 1, 1});
    geometries.push_back({"1x1_outputs", {1, 3, 5, 9}, {300, 1, 1, 9}, 1, 0, 1});
    geometries.push_back({"groups2_channels", {1, 3, 4, 520}, {4, 2, 2, 260}, 1, 1, 2});
    geometries.push_back({"runs", {3, 9, 8, 70}, {12, 3, 3, 70}, 2, 1, 1, false, Fill::kRuns});
    for (Geometry& g : geometries) {
      g.digits = digits;
      all.push_back(std::move(g));
    }
  }
  return all;
}

enum class Which { kForward, kGradX, kGradW };

std::vector<OpCase> Cases(Which which) {
  std::vector<OpCase> cases;
  std::vector<Geometry> geometries = Geometries(), by_digits = GeometriesByDigits();
  geometries.insert(geometries.end(), by_digits.begin(), by_digits.end());
  for (const Geometry& geometry : geometries) {
    Attrs attrs{geometry.stride, geometry.pad, geometry.groups};
    const Conv2dGeometry g = GeometryOfConv2d(attrs, geometry.x, geometry.weights);
    const TensorType x{DType::kF32, geometry.x};
    const TensorType weights{DType::kF32, geometry.weights};
    const TensorType y{DType::kF32, {g.n, g.oh, g.ow, g.o}};
    std::vector<TensorType> in{x, weights};
    if (which == Which::kGradX) {
      attrs.Append(g.h);
      attrs.Append(g.w);
      in = {y, weights};
    } else if (which == Which::kGradW) {
      attrs.Append(g.kh);
      attrs.Append(g.kw);
      in = {x, y};
    }
    cases.push_back({.name = geometry.name + (geometry.digits == 0 ? "" : fmt::format("_digits{}", geometry.digits)),
                     .attrs = WithDigits(attrs, geometry.digits),
                     .in = in,
                     .fill = {geometry.fill, geometry.fill},
                     .gradient = geometry.gradient && which == Which::kForward});
  }
  return cases;
}

}  // namespace

std::vector<OpCase> Conv2dCases() { return Cases(Which::kForward); }
std::vector<OpCase> Conv2dGradXCases() { return Cases(Which::kGradX); }
std::vector<OpCase> Conv2dGradWCases() { return Cases(Which::kGradW); }

}  // namespace assay::ops
