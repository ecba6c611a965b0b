// TensorBoard event files: TFRecord frames around Event protocol buffers that carry scalars (docs/formats/run.md).
//
// One writer per file; each call reaches the operating system before it returns, so a killed run loses no finished record. A file
// appears with its first records; what a power cut takes is of what was written after the last Sync. Not synchronised.
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
  // Creates a file in `directory` with a name that sorts after those of earlier runs. `first_step` are done: what earlier files say of later ones is dropped.
  static Result<EventWriter> Create(const std::string& directory, std::int64_t first_step);
  Status Write(std::int64_t step, std::span<const Scalar> scalars);
  Status Sync() { return file_.Sync(); }

 private:
  explicit EventWriter(AppendFile file) : file_(std::move(file)) {}
  AppendFile file_;
};

bool IsEventFileName(std::string_view name);

// How far the records of a file are good.
struct EventScan {
  std::uint64_t records = 0;
  std::uint64_t whole = 0;     // bytes up to the end of the last good record
  bool torn = false;           // whether what follows is a beginning of a record, not one whose checksums fail
  std::int64_t last_step = 0;  // of the last good record that names one
};
EventScan ScanEvents(ByteSpan file);

// Cuts off what an interrupted process left after the last good record of the newest file in `directory`, and syncs the file, so
// that no other but the newest ever ends in such a rest. A file without any good record is left alone.
Status RepairEvents(const std::string& directory);

}  // namespace assay
