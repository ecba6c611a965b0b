#include "assay/train/batch.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"

namespace assay {
namespace {

bool HasRowsOf(const TensorType& batch, const TensorType& sample) {
  const auto dims = batch.shape.dims();
  const auto rows = sample.shape.dims();
  return batch.dtype == sample.dtype && dims.size() == rows.size() + 1 &&
         std::equal(rows.begin(), rows.end(), dims.begin() + 1);
}

}  // namespace

BatchLoader::BatchLoader(const Dataset& dataset, std::span<const BatchField> fields) : dataset_(dataset) {
  const auto samples = dataset.fields();
  ASSAY_CHECK(samples.size() == fields.size());
  for (const auto& [name, type] : samples) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const BatchField& field) { return field.name == name; });
    ASSAY_CHECK(found != fields.end() && HasRowsOf(found->type, type));
    order_.push_back(static_cast<std::size_t>(found - fields.begin()));
  }
  arranged_.resize(order_.size());
}

void BatchLoader::Load(std::span<const std::int64_t> indices, DrawContext first, std::span<Tensor> fields) {
  for (std::size_t i = 0; i < order_.size(); ++i) arranged_[i] = std::move(fields[order_[i]]);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    DrawContext context = first;
    context.position += static_cast<std::int64_t>(row);
    dataset_.Load(indices[row], context, static_cast<std::int64_t>(row), arranged_);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) fields[order_[i]] = std::move(arranged_[i]);
}

}  // namespace assay
