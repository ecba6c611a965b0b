// SampleDecoder: how samples are made from a part's descriptor and bytes.
//
// It says which bytes sample i is made of, and makes the sample from those bytes and nothing else. So a trainer, who has the data, and a
// judge, who has a few proven ranges of it (provable.h), get the same samples by the same code. Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/result.h"
#include "assay/data/part.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct DrawContext {  // what augmentation may depend on
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  std::int64_t position = 0;  // of the sample inside the whole batch (all microbatches)
  bool train = true;
};

// How the axes of a sample of an array lie: all of them one vector, or an image as [H, W, C] or [C, H, W]; [H, W] has one channel.
enum class ArrayLayout : std::uint8_t { kFlat = 0, kNhwc = 1, kNchw = 2 };

// How a job cuts, lays out and varies samples; each kind of data reads what concerns it.
struct SampleRule {
  std::int64_t sequence = 0;                // tokens: tokens per sample
  std::int64_t stride = 0;                  // tokens: distance between the starts of neighbouring samples
  bool augment = false;                     // images of files: random crops and flips in training
  ArrayLayout layout = ArrayLayout::kFlat;  // arrays
};

// Bytes [begin, end) of an array.
struct SourceRange {
  std::size_t array = 0;
  std::uint64_t begin = 0, end = 0;
};

// Names and per-sample types of the batch fields, e.g. {"tokens", i32[T]}, {"targets", i32[T]}.
using SampleFields = std::vector<std::pair<std::string, TensorType>>;

class SampleDecoder {
 public:
  // An error when no data can be as described, or gives no sample by this rule.
  static Result<std::shared_ptr<const SampleDecoder>> Make(const DataDescriptor& descriptor, const SampleRule& rule);
  virtual ~SampleDecoder() = default;

  virtual std::int64_t samples() const = 0;
  virtual SampleFields fields() const = 0;
  // The ranges that sample `index` is made of. index < samples().
  virtual std::vector<SourceRange> Sources(std::int64_t index) const = 0;
  // Makes sample `index` from the bytes of its sources and writes it into row `row` of each batch tensor (parallel to fields(), with a
  // leading batch axis). An error when no data of this kind has such bytes.
  virtual Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                        std::span<Tensor> batch) const = 0;
};

// Zeroed tensors for `rows` samples, parallel to `fields`.
std::vector<Tensor> MakeBatch(const SampleFields& fields, std::int64_t rows);

}  // namespace assay
