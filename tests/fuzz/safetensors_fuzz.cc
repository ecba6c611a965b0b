// Safetensors files.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/tensor/safetensors.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunSafetensors(ByteSpan input) {
  const auto file = Safetensors::Parse(input, "file");
  if (!file) {
    ASSAY_CHECK(file.error().message.find('\n') == std::string::npos);
    return;
  }
  std::vector<Tensor> tensors;
  std::vector<TensorRef> refs;
  std::size_t bytes = 0;
  for (const StoredTensor& stored : file->tensors()) {
    bytes += stored.data.size();
    ASSAY_CHECK(file->Find(stored.name) == &stored);
    auto tensor = stored.Load();
    if (tensor && !stored.name.empty()) tensors.push_back(std::move(*tensor));
  }
  ASSAY_CHECK(bytes <= input.size());
  std::size_t next = 0;
  for (const StoredTensor& stored : file->tensors()) {
    if (stored.Load() && !stored.name.empty()) refs.push_back({stored.name, &tensors[next++]});
  }
  const auto encoded = EncodeSafetensors(refs, file->metadata());
  ASSAY_CHECK(encoded.has_value());
  const auto again = Safetensors::Parse(*encoded, "again");
  ASSAY_CHECK(again.has_value() && again->tensors().size() == refs.size());
  ASSAY_CHECK(file->IsCanonical() == std::ranges::equal(*encoded, input));
}

std::vector<Bytes> SafetensorsSeeds() {
  Tensor a(DType::kF32, {2, 2}), b(DType::kI64, {}), c(DType::kU8, {0, 3});
  const std::vector<TensorRef> refs = {{"a.weight", &a}, {"b", &b}, {"c", &c}};
  const std::string half =
      R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"x":{"dtype":"BOOL","shape":[],"data_offsets":[4,5]}})";
  ByteWriter out;
  out.U64(half.size());
  out.Raw(AsBytes(half));
  out.Raw(Bytes(5, 60));
  return {EncodeSafetensors(refs, {{"format", "pt"}}).value(), out.Take()};
}

}  // namespace assay::fuzz
