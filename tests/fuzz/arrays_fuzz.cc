// Arrays of somebody else's: .npz archives with .npy members, and safetensors files.
#include "assay/base/check.h"
#include "assay/data/arrays.h"
#include "assay/data/dataset.h"
#include "fuzz/targets.h"
#include "support/array_bytes.h"

namespace assay::fuzz {

void RunArrays(ByteSpan input) {
  auto inputs = ParseArray(input, "x", "file");
  if (!inputs) {
    ASSAY_CHECK(inputs.error().message.find('\n') == std::string::npos);
    return;
  }
  ASSAY_CHECK(inputs->array.data.size() ==
              static_cast<std::size_t>(inputs->array.shape.elements()) * SizeOf(inputs->array.type));
  const auto labels = ParseArray(input, "y", "file");
  if (!labels) return;
  Allowance everything;
  const auto arrays = LabelledArrays::Make(std::move(*inputs), *labels, "file", everything);
  if (!arrays) return;
  for (ArrayLayout layout : {ArrayLayout::kFlat, ArrayLayout::kNhwc, ArrayLayout::kNchw}) {
    const SampleRule rule{.augment = layout != ArrayLayout::kFlat, .layout = layout};
    const auto set = Dataset::Make(ArraysPart(*arrays, 0, (*arrays)->size()), rule, "arrays");
    if (!set) continue;
    auto batch = MakeBatch((*set)->fields(), 1);
    (*set)->Load((*set)->samples() - 1, {.seed = input.size(), .step = input[0], .position = 1}, 0, batch);
    const std::int32_t label = batch[1].Span<std::int32_t>()[0];
    ASSAY_CHECK(label >= 0 && label <= (*arrays)->largest_label());
  }
}

std::vector<Bytes> ArraysSeeds() {
  using testkit::Npy;
  using testkit::Zip;
  const Bytes labels = Npy("<i4", "(2,)", Bytes{1, 0, 0, 0, 3, 0, 0, 0});
  const auto pair = [&](const Bytes& inputs, bool deflated, bool wide) {
    return Zip({{.name = "x.npy", .bytes = inputs, .deflated = deflated, .wide = wide}, {.name = "y.npy", .bytes = labels}});
  };
  Tensor x(DType::kF32, {2, 3, 2}), y(DType::kI64, {2});
  const TensorRef refs[] = {{"x", &x}, {"y", &y}};
  return {pair(Npy("|u1", "(2, 2, 3)", Bytes(12, 9)), false, false), pair(Npy("<f4", "(2, 1)", Bytes(8, 1)), true, false),
          pair(Npy("<f8", "(2, 1, 1, 1)", Bytes(16, 2)), true, true), EncodeSafetensors(refs).value()};
}

}  // namespace assay::fuzz
