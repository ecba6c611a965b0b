#include "assay/ops/layout_cases.h"

namespace assay::ops {
namespace {

constexpr Fill FillOf(DType dtype) { return dtype == DType::kI32 ? Fill::kIndex : Fill::kSpecial; }

OpCase OneInput(const char* name, Attrs attrs, Shape shape, bool gradient = false, DType dtype = DType::kF32) {
  return {.name = name,
          .attrs = std::move(attrs),
          .in = {{dtype, shape}},
          .fill = {gradient ? Fill::kNormal : FillOf(dtype)},
          .index_limit = 1000,
          .gradient = gradient};
}

using Ints = std::vector<std::int64_t>;

}  // namespace

std::vector<OpCase> TransposeCases() {
  return {
      OneInput("scalar", {Ints{}}, {}),
      OneInput("vector", {Ints{0}}, {77}),
      OneInput("identity", {Ints{0, 1, 2}}, {3, 5, 7}),
      OneInput("empty", {Ints{1, 0}}, {0, 5}),
      OneInput("matrix_small", {Ints{1, 0}}, {3, 5}),
      OneInput("matrix_row", {Ints{1, 0}}, {1, 37}),
      OneInput("matrix_tails", {Ints{1, 0}}, {131, 67}),
      OneInput("matrix_i32", {Ints{1, 0}}, {19, 66}, false, DType::kI32),
      OneInput("batched", {Ints{0, 2, 1}}, {3, 18, 33}),
      OneInput("heads", {Ints{0, 2, 1, 3}}, {2, 9, 3, 20}),
      OneInput("reverse", {Ints{3, 2, 1, 0}}, {4, 3, 6, 5}),
      OneInput("rotate", {Ints{2, 0, 1}}, {5, 40, 17}),
      OneInput("ones", {Ints{4, 1, 0, 3, 2}}, {1, 6, 1, 9, 1}),
      OneInput("nhwc_to_nchw", {Ints{0, 3, 1, 2}}, {2, 7, 9, 5}),
      OneInput("grad", {Ints{2, 0, 1}}, {2, 3, 4}, true),
  };
}

std::vector<OpCase> SliceCases() {
  const auto attrs = [](std::int64_t axis, std::int64_t begin, std::int64_t end) { return Attrs{axis, begin, end}; };
  return {
      OneInput("vector", attrs(0, 3, 60), {65}),
      OneInput("all", attrs(1, 0, 9), {4, 9}),
      OneInput("none", attrs(1, 5, 5), {4, 9}),
      OneInput("first_axis", attrs(0, 1, 3), {4, 3, 35}),
      OneInput("middle_axis", attrs(1, 2, 5), {3, 7, 19}),
      OneInput("last_axis", attrs(2, 33, 70), {3, 5, 100}),
      OneInput("one_column", attrs(1, 4, 5), {70, 9}),
      OneInput("long_rows", attrs(1, 17, 2100), {5, 2200}),
      OneInput("i32", attrs(1, 1, 6), {5, 9}, false, DType::kI32),
      OneInput("grad", attrs(1, 1, 3), {2, 4, 3}, true),
  };
}

std::vector<OpCase> PadCases() {
  const auto attrs = [](std::int64_t axis, std::int64_t before, std::int64_t after) { return Attrs{axis, before, after}; };
  return {
      OneInput("vector", attrs(0, 3, 6), {65}),
      OneInput("nothing", attrs(1, 0, 0), {4, 9}),
      OneInput("empty", attrs(1, 2, 3), {4, 0}),
      OneInput("first_axis", attrs(0, 1, 3), {4, 3, 35}),
      OneInput("middle_axis", attrs(1, 2, 0), {3, 7, 19}),
      OneInput("last_axis", attrs(2, 0, 70), {3, 5, 100}),
      OneInput("long_rows", attrs(1, 17, 2100), {5, 2200}),
      OneInput("i32", attrs(1, 1, 6), {5, 9}, false, DType::kI32),
      OneInput("grad", attrs(1, 1, 2), {2, 3, 2}, true),
  };
}

std::vector<OpCase> ConcatCases() {
  const auto parts = [](const char* name, std::int64_t axis, std::vector<Shape> shapes, bool gradient = false,
                        DType dtype = DType::kF32) {
    OpCase result{.name = name, .attrs = {axis}, .in = {}, .fill = {}, .index_limit = 1000, .gradient = gradient};
    for (const Shape& shape : shapes) {
      result.in.push_back({dtype, shape});
      result.fill.push_back(gradient ? Fill::kNormal : FillOf(dtype));
    }
    return result;
  };
  return {
      parts("single", 0, {{5, 3}}),
      parts("vectors", 0, {{17}, {1}, {64}}),
      parts("first_axis", 0, {{2, 9}, {5, 9}}),
      parts("last_axis", 2, {{3, 4, 7}, {3, 4, 33}, {3, 4, 1}}),
      parts("with_empty", 1, {{3, 0, 5}, {3, 2, 5}, {3, 0, 5}}),
      parts("long_rows", 1, {{3, 1500}, {3, 700}}),
      parts("many", 0, {{1, 3}, {2, 3}, {1, 3}, {3, 3}, {1, 3}, {2, 3}, {1, 3}, {1, 3}, {1, 3}, {1, 3},
                        {1, 3}, {2, 3}, {1, 3}, {3, 3}, {1, 3}, {2, 3}, {1, 3}, {1, 3}, {1, 3}, {1, 3}}),
      parts("i32", 1, {{3, 4}, {3, 9}}, false, DType::kI32),
      parts("grad", 1, {{2, 2, 2}, {2, 1, 2}, {2, 3, 2}}, true),
  };
}

}  // namespace assay::ops
