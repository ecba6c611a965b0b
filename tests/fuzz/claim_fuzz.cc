// Claims of ownership: what is read is written back to the same bytes, names lead nowhere, and parents may be anything.
#include "assay/base/check.h"
#include "assay/own/lineage.h"
#include "fuzz/stage.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunClaim(ByteSpan input) {
  const auto claim = own::DecodeClaim(input, "claim");
  if (!claim) {
    ASSAY_CHECK(claim.error().message.find('\n') == std::string::npos);
    return;
  }
  const Bytes again = own::Encode(*claim);
  ASSAY_CHECK(std::ranges::equal(again, input));
  for (const own::ClaimedFile& file : claim->files) {
    ASSAY_CHECK(file.name.find("..") == std::string::npos && file.name.front() != '/');
    ASSAY_CHECK(file.bytes.size() <= own::MaxBytesOf(file.name));
  }
  const own::Lineage lineage = own::WalkLineage(HashBytes(input), claim->parents);
  ASSAY_CHECK(lineage.complete == lineage.problem.empty());
}

std::vector<Bytes> ClaimSeeds() {
  const Stage stage;
  const Bytes receipt = ToBytes(stage.liar.receipt()), some = {1, 2, 3};
  own::OwnershipClaim claim{.nonce = {9}, .top = 2, .drawn = 4};
  const Bytes empty = own::Encode(claim);
  claim.files = {
      {"id", some}, {"log/tile/0/000.p/3", some}, {"receipt.json", receipt}, {"snapshots/step-0000000004.safetensors", some}};
  claim.stretches = {{{0, 4}, own::Chosen::kBoth}, {{4, 8}, own::Chosen::kDrawn}};
  claim.parents = {{receipt, some, some}};
  return {empty, own::Encode(claim)};
}

}  // namespace assay::fuzz
