#include "assay/data/decoder.h"

#include <variant>

#include "assay/data/arrays.h"
#include "assay/data/cifar.h"
#include "assay/data/generated.h"
#include "assay/data/tokens.h"

namespace assay {
namespace {

using Made = Result<std::shared_ptr<const SampleDecoder>>;

Made MakeFor(const TokensDescriptor& d, const SampleRule& rule) {
  if (rule.sequence < 1 || rule.sequence >= d.count) {
    return Err("data: sequence: expected 1 .. {} with {} tokens, got {}", d.count - 1, d.count, rule.sequence);
  }
  if (rule.stride < 1) return Err("data: stride: expected at least 1, got {}", rule.stride);
  return std::make_shared<TokenDecoder>(d, rule.sequence, rule.stride);
}

Made MakeFor(const CifarDescriptor& d, const SampleRule& rule) { return std::make_shared<CifarDecoder>(d, rule.augment); }

Made MakeFor(const ArraysDescriptor& d, const SampleRule& rule) {
  ASSAY_ASSIGN(const SampleGeometry geometry, GeometryOf(d.sample, rule.layout));
  return std::make_shared<ArraysDecoder>(d, rule, geometry);
}

Made MakeFor(const GeneratedDescriptor& d, const SampleRule&) { return std::make_shared<GeneratedDecoder>(d); }

}  // namespace

Made SampleDecoder::Make(const DataDescriptor& descriptor, const SampleRule& rule) {
  ASSAY_TRY(Check(descriptor));
  return std::visit([&](const auto& d) { return MakeFor(d, rule); }, descriptor);
}

std::vector<Tensor> MakeBatch(const SampleFields& fields, std::int64_t rows) {
  std::vector<Tensor> batch;
  for (const auto& [name, type] : fields) {
    Shape shape{rows};
    for (std::int64_t extent : type.shape.dims()) shape.Append(extent);
    batch.emplace_back(type.dtype, shape);
  }
  return batch;
}

}  // namespace assay
