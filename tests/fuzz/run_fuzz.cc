// What a run directory holds beside tensors: its header, log entries, events, the statement of its receipt, and the metadata of its snapshots.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/run/entry.h"
#include "assay/run/events.h"
#include "assay/run/identity.h"
#include "assay/run/receipt.h"
#include "assay/run/snapshot.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunRun(ByteSpan input) {
  const auto header = ParseRunHeader(AsText(input), "id");
  if (header) ASSAY_CHECK(Encode(*header) == AsText(input));
  const auto entry = DecodeLogEntry(input, "entry");
  if (entry) ASSAY_CHECK(std::ranges::equal(Encode(*entry), input));
  const auto receipt = ParseStatement(AsText(input), "receipt");
  if (receipt) ASSAY_CHECK(ToStatement(*receipt) == AsText(input));
  const EventScan scan = ScanEvents(input);
  ASSAY_CHECK(scan.whole <= input.size());
  const EventScan good = ScanEvents(input.first(scan.whole));
  ASSAY_CHECK(good.whole == scan.whole && good.records == scan.records && good.last_step == scan.last_step && !good.torn);
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
  const SigningKey key("seed", digest.bytes);
  const VerifyKey& signer = key.verify_key();
  const RunHeader header{
      .identity = {digest, digest, digest}, .signer = signer, .job_toml = digest, .job_bin = digest, .program_bin = digest};
  const LogEntry entry{.step = 20, .state_root = digest, .batch_root = digest, .loss_bits = 0x3f800000, .previous = digest};
  const Checkpoint log{.origin = "seed/" + digest.hex(), .size = 3, .root = digest};
  const Receipt receipt{.model = digest,
                        .job = digest,
                        .trajectory = digest,
                        .program = digest,
                        .data = digest,
                        .steps = 20,
                        .commit_every = 10,
                        .snapshot_every = 0,
                        .log = log,
                        .initial_state_root = digest,
                        .final_state_root = digest,
                        .loss_bits = 0x3f800000,
                        .weights = digest,
                        .signer = signer.ToString()};
  Receipt follower = receipt;
  follower.follows = {.signer = signer.ToString(), .log_root = digest};
  ByteWriter events;
  const Scalar loss{"loss", 2.0f};
  for (const Bytes& event : {EncodeVersionEvent(1.5), EncodeRestartEvent(1.5, 300), EncodeScalarEvent(1.5, 301, {&loss, 1})}) {
    events.Raw(FrameRecord(event));
  }
  return {ToBytes(Encode(header)),
          EncodeSafetensors({&ref, 1}, ToMetadata(info)).value(),
          Encode(entry),
          ToBytes(ToStatement(receipt)),
          ToBytes(ToStatement(follower)),
          events.Take()};
}

}  // namespace assay::fuzz
