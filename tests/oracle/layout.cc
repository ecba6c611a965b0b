#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

// The view [outer, extent, inner] of a shape around one axis.
struct AxisView {
  std::int64_t outer, extent, inner;
};

AxisView Around(const Shape& shape, std::int64_t axis) {
  const int a = static_cast<int>(axis);
  return {shape.Product(0, a), shape[a], shape.Product(a + 1, shape.rank())};
}

}  // namespace

Arrays Oracle_reshape(const Call& c) { return {c[0]}; }

Arrays Oracle_transpose(const Call& c) {
  const Shape& from = c.shape(0);
  const Shape& to = c.out_shape(0);
  const std::vector<std::int64_t>& perm = c.op.attrs.Ints(0);
  Array out;
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    std::int64_t rest = i, source = 0;
    for (int axis = to.rank() - 1; axis >= 0; --axis) {
      const int in_axis = static_cast<int>(perm[Index(axis)]);
      source += rest % to[axis] * from.Product(in_axis + 1, from.rank());
      rest /= to[axis];
    }
    out.push_back(c[0][Index(source)]);
  }
  return {out};
}

Arrays Oracle_slice(const Call& c) {
  const AxisView v = Around(c.shape(0), c.Int(0));
  Array out;
  for (std::int64_t o = 0; o < v.outer; ++o) {
    for (std::int64_t e = c.Int(1); e < c.Int(2); ++e) {
      for (std::int64_t i = 0; i < v.inner; ++i) out.push_back(c[0][Index((o * v.extent + e) * v.inner + i)]);
    }
  }
  return {out};
}

Arrays Oracle_pad(const Call& c) {
  const AxisView v = Around(c.shape(0), c.Int(0));
  Array out;
  for (std::int64_t o = 0; o < v.outer; ++o) {
    for (std::int64_t e = -c.Int(1); e < v.extent + c.Int(2); ++e) {
      for (std::int64_t i = 0; i < v.inner; ++i) {
        out.push_back(e < 0 || e >= v.extent ? 0 : c[0][Index((o * v.extent + e) * v.inner + i)]);
      }
    }
  }
  return {out};
}

Arrays Oracle_concat(const Call& c) {
  const std::int64_t outer = Around(c.out_shape(0), c.Int(0)).outer;
  Array out;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      const AxisView v = Around(c.shape(k), c.Int(0));
      for (std::int64_t i = 0; i < v.extent * v.inner; ++i) out.push_back(c[k][Index(o * v.extent * v.inner + i)]);
    }
  }
  return {out};
}

}  // namespace assay::oracle
