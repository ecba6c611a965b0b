#include "assay/dispute/claim.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "assay/base/base64.h"
#include "assay/base/quote.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMaxReceipt = 65536;

// The signer that the receipt names, before anything is verified.
Result<VerifyKey> NamedSigner(std::string_view file, std::string_view what) {
  const nlohmann::json envelope = nlohmann::json::parse(file, nullptr, false);
  const auto refuse = [&] { return Err("{}: expected a receipt (docs/formats/receipt.md)", what); };
  if (!envelope.is_object() || !envelope.contains("payload") || !envelope["payload"].is_string()) return refuse();
  const auto payload = FromBase64(envelope["payload"].get<std::string>());
  if (!payload) return refuse();
  const std::string text(payload->begin(), payload->end());
  ASSAY_ASSIGN(const Receipt receipt, ParseStatement(text, what));
  return VerifyKey::Parse(receipt.signer);
}

}  // namespace

Result<Claim> OpenClaim(std::string_view receipt_file, std::string_view what) {
  if (receipt_file.size() > kMaxReceipt) return Err("{}: expected a receipt of at most {} bytes", what, kMaxReceipt);
  ASSAY_ASSIGN(VerifyKey signer, NamedSigner(receipt_file, what));
  ASSAY_ASSIGN(Receipt receipt, OpenReceipt(receipt_file, signer, what));
  return Claim{std::move(receipt), std::move(signer), HashBytes(AsBytes(receipt_file))};
}

Status CheckClaim(const Claim& claim, const Terms& terms) {
  const Receipt& r = claim.receipt;
  const auto differ = [&](std::string_view field, const auto& said, const auto& is) -> Status {
    return Err("the receipt of {} says {} {}, the job has {}", claim.signer.id(), field, said, is);
  };
  if (r.job != terms.id()) return differ("job", r.job.hex(), terms.id().hex());
  if (r.trajectory != terms.trajectory()) return differ("trajectory", r.trajectory.hex(), terms.trajectory().hex());
  if (r.program != terms.program_hash()) return differ("program", r.program.hex(), terms.program_hash().hex());
  if (r.data != terms.inputs().data) return differ("data", r.data.hex(), terms.inputs().data.hex());
  if (r.steps != terms.job().steps) return differ("steps", r.steps, terms.job().steps);
  if (r.commit_every != terms.job().commit_every) return differ("commit_every", r.commit_every, terms.job().commit_every);
  if (r.log.size != terms.entries()) return differ("log.size", r.log.size, terms.entries());
  return {};
}

Digest GroupOf(const Claim& claim) {
  ByteWriter out;
  out.String("assay/group/2");
  const Receipt& r = claim.receipt;
  for (const Digest& digest : {r.job, r.log.root, r.initial_state_root, r.final_state_root, r.weights}) out.Raw(digest.bytes);
  out.U32(r.loss_bits);
  return HashBytes(out.bytes());
}

Digest DisputeId(DisputeName name) {
  std::ranges::sort(name.receipts, {}, &Digest::bytes);
  ByteWriter out;
  out.String(name.pair ? "assay/comparison/2" : "assay/dispute/2");
  out.Raw(name.job.bytes);
  out.Raw(name.referee);
  out.U32(static_cast<std::uint32_t>(name.receipts.size()));
  for (const Digest& receipt : name.receipts) out.Raw(receipt.bytes);
  out.Raw(name.nonce.bytes);
  return HashBytes(out.bytes());
}

}  // namespace assay::dispute
