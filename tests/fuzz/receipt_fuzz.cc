// Receipts: as files that may be anything, and as statements that are well signed, whatever they say.
#include "assay/base/check.h"
#include "assay/dispute/claim.h"
#include "assay/run/receipt.h"
#include "assay/sign/dsse.h"
#include "fuzz/stage.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

constexpr std::string_view kType = "application/vnd.in-toto+json";

const SigningKey& Key() {
  static const SigningKey kKey("fuzz", HashBytes(AsBytes("seed")).bytes);
  return kKey;
}

void Open(std::string_view file) {
  const auto claim = dispute::OpenClaim(file, "receipt");
  if (!claim) {
    ASSAY_CHECK(claim.error().message.find('\n') == std::string::npos);
    return;
  }
  ASSAY_CHECK(claim->receipt_hash == HashBytes(AsBytes(file)));
  ASSAY_CHECK(claim->signer.ToString() == claim->receipt.signer);
  ASSAY_CHECK(OpenReceipt(file, claim->signer, "receipt").has_value());
  // Says something about one field, or nothing; does not fail on any.
  static const Stage stage;
  static_cast<void>(dispute::CheckClaim(*claim, stage.honest.terms()));
  static_cast<void>(dispute::GroupOf(*claim));
}

}  // namespace

void RunReceipt(ByteSpan input) {
  const auto statement = ParseStatement(AsText(input), "receipt");
  if (statement) ASSAY_CHECK(ToStatement(*statement) == AsText(input));
  Open(AsText(input));
  Open(SignEnvelope(kType, AsText(input), Key()));
}

std::vector<Bytes> ReceiptSeeds() {
  const Stage stage;
  Receipt receipt = stage.honest_claim.receipt;
  receipt.signer = Key().verify_key().ToString();
  return {ToBytes(ToStatement(receipt)), ToBytes(SignReceipt(receipt, Key())), ToBytes(stage.liar.receipt())};
}

}  // namespace assay::fuzz
