#include "assay/run/weights_root.h"

#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay {

Digest WeightsRoot(std::span<const TensorRef> weights, ThreadPool& pool) {
  std::vector<ByteSpan> contents;
  for (const TensorRef& weight : weights) {
    ASSAY_CHECK(weight.tensor->space().is_host());
    contents.push_back(weight.tensor->bytes());
  }
  const std::vector<Digest> roots = TensorRoots(contents, pool);
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < weights.size(); ++i) entries.push_back({weights[i].name, weights[i].tensor->type(), roots[i]});
  return EntriesRoot(kWeightsTag, entries);
}

Result<Digest> WeightsRoot(const Safetensors& file, ThreadPool& pool) {
  ASSAY_ASSIGN(const std::vector<TensorEntry> entries, EntriesOf(file, pool));
  return EntriesRoot(kWeightsTag, entries);
}

Result<std::vector<TensorEntry>> EntriesOf(const Safetensors& file, ThreadPool& pool) {
  std::vector<TensorEntry> entries;
  std::vector<ByteSpan> contents;
  for (const StoredTensor& tensor : file.tensors()) {
    const auto dtype = tensor.OwnType();
    if (!dtype)
      return Err("{}: tensor {}: no state has the element type {}", file.what(), Quote(tensor.name), Name(tensor.type));
    entries.push_back({tensor.name, {*dtype, tensor.shape}, {}});
    contents.push_back(tensor.data);
  }
  const std::vector<Digest> roots = TensorRoots(contents, pool);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].root = roots[i];
  return entries;
}

}  // namespace assay
