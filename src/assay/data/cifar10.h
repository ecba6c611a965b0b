// CIFAR-10 binary files: records of one label byte and 3·32·32 pixel bytes (red, green and blue planes).
//
// A sample is the image as NHWC f32, (v / 255 - mean) / deviation per channel, and its label. In training, with augmentation, the image is
// shifted by -4 .. 4 in both directions (zeros, after normalisation, move in) and mirrored with probability 1/2; docs/NUMERICS.md, section 4.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/data/decoder.h"

namespace assay {

inline constexpr std::int64_t kCifarSide = 32, kCifarChannels = 3, kCifarClasses = 10;
inline constexpr std::size_t kCifarRecord = 1 + 3 * 32 * 32;

// The records of one or more files, in order. Immutable.
class CifarRecords {
 public:
  static Result<std::shared_ptr<const CifarRecords>> Open(const std::vector<std::string>& paths);
  // `bytes` must outlive the records.
  static Result<std::shared_ptr<const CifarRecords>> Parse(ByteSpan bytes, std::string_view what);

  std::int64_t size() const { return size_; }
  DataArray array() const { return DataArray(parts_); }

 private:
  Status Append(ByteSpan bytes, std::string_view what);
  std::vector<MappedFile> files_;
  std::vector<ByteSpan> parts_;
  std::int64_t size_ = 0;
};

// Records [begin, end).
DataPart CifarPart(std::shared_ptr<const CifarRecords> records, std::int64_t begin, std::int64_t end);

class CifarDecoder : public SampleDecoder {
 public:
  CifarDecoder(const CifarDescriptor& descriptor, bool augment);
  std::int64_t samples() const override { return count_; }
  SampleFields fields() const override;
  std::vector<SourceRange> Sources(std::int64_t index) const override;
  Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                std::span<Tensor> batch) const override;

 private:
  std::int64_t count_;
  bool augment_;
  std::vector<float> values_;  // [channel][byte]
};

}  // namespace assay
