// What a run directory holds beside tensors: its identity, and the metadata of its snapshots.
#include "assay/base/check.h"
#include "assay/run/identity.h"
#include "assay/run/snapshot.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunRun(ByteSpan input) {
  const auto identity = ParseRunIdentity(AsText(input), "id");
  if (identity) ASSAY_CHECK(Encode(*identity) == AsText(input));
  const auto file = Safetensors::Parse(input, "file");
  if (!file) return;
  const auto info = SnapshotInfoOf(*file);
  if (!info) {
    ASSAY_CHECK(info.error().message.find('\n') == std::string::npos);
    return;
  }
  const Bytes again = EncodeSafetensors({}, ToMetadata(*info)).value();
  ASSAY_CHECK(ToMetadata(*SnapshotInfoOf(*Safetensors::Parse(again, "again"))) == ToMetadata(*info));
}

std::vector<Bytes> RunSeeds() {
  const Digest digest = HashBytes(AsBytes("seed"));
  const SnapshotInfo info{
      .step = 7, .job = digest, .trajectory = digest, .state_root = digest, .loss = 1.5f, .validation_loss = 2.5f};
  Tensor tensor(DType::kF32, {2});
  const TensorRef ref{"w", &tensor};
  return {ToBytes(Encode(RunIdentity{digest, digest, digest})), EncodeSafetensors({&ref, 1}, ToMetadata(info)).value()};
}

}  // namespace assay::fuzz
