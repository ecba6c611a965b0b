#include "assay/data/dataset.h"

#include <utility>

#include "assay/base/check.h"

namespace assay {
namespace {

// Decodes samples from a part's own bytes.
class PartDataset : public Dataset {
 public:
  PartDataset(DataPart part, std::shared_ptr<const SampleDecoder> decoder, std::string description)
      : part_(std::move(part)), decoder_(std::move(decoder)), description_(std::move(description)) {}

  std::int64_t samples() const override { return decoder_->samples(); }
  SampleFields fields() const override { return decoder_->fields(); }
  std::string description() const override { return description_; }
  void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const override {
    const std::vector<SourceRange> ranges = decoder_->Sources(index);
    std::vector<Bytes> scratch(ranges.size());
    std::vector<ByteSpan> sources;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      sources.push_back(part_.arrays[ranges[i].array].Fetch(ranges[i].begin, ranges[i].end, scratch[i]));
    }
    // Opening the data has checked all of it.
    ASSAY_CHECK(decoder_->Decode(index, context, sources, row, batch));
  }

 private:
  DataPart part_;
  std::shared_ptr<const SampleDecoder> decoder_;
  std::string description_;
};

}  // namespace

Result<std::unique_ptr<Dataset>> Dataset::Make(DataPart part, const SampleRule& rule, std::string description) {
  ASSAY_ASSIGN(auto decoder, SampleDecoder::Make(part.descriptor, rule));
  const std::vector<ArraySpec> specs = ArraysOf(part.descriptor);
  ASSAY_CHECK(specs.size() == part.arrays.size());
  for (std::size_t i = 0; i < specs.size(); ++i) ASSAY_CHECK(part.arrays[i].size() == specs[i].type.bytes());
  return std::make_unique<PartDataset>(std::move(part), std::move(decoder), std::move(description));
}

}  // namespace assay
