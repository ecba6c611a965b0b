// Poolings treat each channel of each image by itself.
#include "assay/ops/narrow_kinds.h"
#include "assay/ops/pool_geometry.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

// Where an element of images [N, H, W, C] is.
struct Place {
  Place(std::int64_t element, const Shape& shape)
      : image(element / (shape[1] * shape[2] * shape[3])),
        row(element / (shape[2] * shape[3]) % shape[1]),
        column(element / shape[3] % shape[2]),
        channel(element % shape[3]) {}
  std::int64_t image, row, column, channel;
};

Shape OneChannel(const Shape& shape) { return {1, shape[1], shape[2], 1}; }

Narrowed OneChannelOf(const OpInstance& op, int output, const Place& at) {
  Narrowed narrowed{.op = op, .element = at.row * op.out[static_cast<std::size_t>(output)].shape[2] + at.column};
  for (TensorType& type : narrowed.op.in) type.shape = OneChannel(type.shape);
  for (TensorType& type : narrowed.op.out) type.shape = OneChannel(type.shape);
  return narrowed;
}

// Pixels `rows` x `columns` of the channel.
void AddPixels(Narrowed& narrowed, int input, const Shape& shape, const Place& at, Range rows, Range columns) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::int64_t begin = ((at.image * shape[1] + row) * shape[2] + columns.begin) * shape[3] + at.channel;
    AddPiece(narrowed, StridedOf(input, begin, shape[3], columns.size()), input, row * shape[2] + columns.begin);
  }
}

}  // namespace

Narrowed NarrowPool(const OpInstance& op, int output, std::int64_t element) {
  const PoolGeometry g = PoolGeometryOf(op.attrs, op.in[0].shape, op.out[0].shape);
  const Place at(element, op.out[0].shape);
  Narrowed narrowed = OneChannelOf(op, output, at);
  AddPixels(narrowed, 0, op.in[0].shape, at, g.h.Pixels({at.row, at.row + 1}), g.w.Pixels({at.column, at.column + 1}));
  return narrowed;
}

Narrowed NarrowPoolGrad(const OpInstance& op, std::int64_t element) {
  const PoolGeometry g = PoolGeometryOf(op.attrs, op.out[0].shape, op.in[0].shape);
  const Place at(element, op.out[0].shape);
  Narrowed narrowed = OneChannelOf(op, 0, at);
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    AddPixels(narrowed, static_cast<int>(k), op.in[k].shape, at, g.h.Windows({at.row, at.row + 1}),
              g.w.Windows({at.column, at.column + 1}));
  }
  return narrowed;
}

Narrowed NarrowGlobalPool(const OpInstance& op, std::int64_t element) {
  const Shape& x = op.in[0].shape;
  const std::int64_t pixels = x[1] * x[2], image = element / x[3], channel = element % x[3];
  Narrowed narrowed{.op = op};
  narrowed.op.in[0].shape = OneChannel(x);
  narrowed.op.out[0].shape = {1, 1};
  AddPiece(narrowed, StridedOf(0, image * pixels * x[3] + channel, x[3], pixels), 0);
  return narrowed;
}

}  // namespace assay::ops
