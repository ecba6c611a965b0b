// CIFAR binary files: records of one label byte (CIFAR-10) or two, coarse and fine (CIFAR-100), and 3·32·32 pixel bytes (red, green and
// blue planes).
//
// A sample is the image as NHWC f32, (v / 255 - mean) / deviation per channel, and its label. In training, with augmentation, the image is
// shifted and mirrored (augment.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/data/decoder.h"

namespace assay {

inline constexpr std::int64_t kCifarSide = 32, kCifarChannels = 3;
// How many classes tells the format: 10 are CIFAR-10's, 20 and 100 CIFAR-100's coarse and fine labels.
inline constexpr std::int64_t kCifarClasses = 10, kCifarCoarse = 20, kCifarFine = 100;
constexpr std::size_t CifarLabelBytes(std::int64_t classes) { return classes == kCifarClasses ? 1 : 2; }
constexpr std::size_t CifarRecordBytes(std::int64_t classes) { return CifarLabelBytes(classes) + 3 * 32 * 32; }
inline constexpr std::size_t kCifarRecord = CifarRecordBytes(kCifarClasses);

// The records of one or more files, in order. Immutable.
class CifarRecords {
 public:
  static Result<std::shared_ptr<const CifarRecords>> Open(const std::vector<std::string>& paths, std::int64_t classes,
                                                          Allowance& allowance);
  // `bytes` must outlive the records.
  static Result<std::shared_ptr<const CifarRecords>> Parse(ByteSpan bytes, std::string_view what,
                                                           std::int64_t classes = kCifarClasses);

  explicit CifarRecords(std::int64_t classes) : classes_(classes) {}
  std::int64_t size() const { return size_; }
  std::int64_t classes() const { return classes_; }
  DataArray array() const { return DataArray(parts_); }

 private:
  Status Append(ByteSpan bytes, std::string_view what);
  std::int64_t classes_;
  std::vector<MappedFile> files_;
  std::vector<ByteSpan> parts_;
  std::int64_t size_ = 0;
};

// Records [begin, end).
DataPart CifarPart(std::shared_ptr<const CifarRecords> records, std::int64_t begin, std::int64_t end);

class CifarDecoder : public SampleDecoder {
 public:
  // Wants a descriptor that passes Check.
  CifarDecoder(const CifarDescriptor& descriptor, bool augment);
  std::int64_t samples() const override { return data_.count; }
  SampleFields fields() const override;
  std::vector<SourceRange> Sources(std::int64_t index) const override;
  Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                std::span<Tensor> batch) const override;

 private:
  CifarDescriptor data_;
  bool augment_;
  std::vector<float> values_;  // [channel][byte]
};

}  // namespace assay
