// TensorBoard event files: TFRecord frames around Event protocol buffers that carry scalars (docs/formats/run.md).
//
// One writer per file; each call reaches the operating system before it returns, so a killed run loses no finished record. Not synchronised.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "assay/base/file.h"

namespace assay {

struct Scalar {
  std::string_view tag;
  float value = 0;
};

// The bytes of one TFRecord: length, its checksum, data, its checksum.
Bytes FrameRecord(ByteSpan data);
Bytes EncodeVersionEvent(double wall_time_s);
// Tells readers to drop what earlier files of the run say about `step` and later: a resumed run computes it again.
Bytes EncodeRestartEvent(double wall_time_s, std::int64_t step);
Bytes EncodeScalarEvent(double wall_time_s, std::int64_t step, std::span<const Scalar> scalars);

class EventWriter {
 public:
  // Creates a file in `directory` with a name that sorts after those of earlier runs.
  static Result<EventWriter> Create(const std::string& directory, std::int64_t first_step);
  Status Write(std::int64_t step, std::span<const Scalar> scalars);

 private:
  explicit EventWriter(AppendFile file) : file_(std::move(file)) {}
  AppendFile file_;
};

}  // namespace assay
