#include "assay/life/sample.h"

#include "assay/run/segments.h"

namespace assay::life {

Result<Bytes> SampleNonce(const std::string& nonce, const std::string& share) {
  Bytes both;
  for (const std::string* text : {&nonce, &share}) {
    const auto part = Digest::FromHex(*text);
    if (!part) return Err("expected a nonce and a share of 64 hex digits");
    both.insert(both.end(), part->bytes.begin(), part->bytes.end());
  }
  return both;
}

std::string SampleHash(const std::vector<std::int64_t>& drawn) {
  ByteWriter out;
  for (const std::int64_t number : drawn) out.U64(static_cast<std::uint64_t>(number));
  return HashBytes(out.bytes()).hex();
}

Result<std::string> SampleOf(const Receipt& receipt, const Digest& receipt_hash, const std::string& nonce,
                             const std::string& share, std::int64_t percent) {
  ASSAY_ASSIGN(const Bytes by, SampleNonce(nonce, share));
  const std::int64_t steps = receipt.steps, every = receipt.snapshot_every;
  const std::int64_t segments = every == 0 ? 1 : steps / every + (steps % every != 0 ? 1 : 0);
  if (segments > kMaxSegments) return Err("the run has {} segments, at most {} can be sampled", segments, kMaxSegments);
  return SampleHash(DrawSegments(receipt_hash, by, segments, SampleSize(segments, static_cast<double>(percent))));
}

}  // namespace assay::life
