#include "assay/cli/verification.h"

#include "assay/base/file.h"
#include "assay/cli/colour.h"
#include "assay/cli/exit_status.h"
#include "assay/data/packed_header.h"
#include "assay/own/claim.h"
#include "assay/run/directory.h"
#include "assay/run/snapshot.h"
#include "assay/verdict/judged.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxTextBytes = 1 << 20;  // more than any receipt, checkpoint or proof has

std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

enum class Kind { kUnknown, kReceipt, kCheckpoint, kProof, kEvidence };

// By what it looks like, so that an altered file is named for what it was meant to be.
Kind KindOf(ByteSpan bytes) {
  const std::string_view text = AsText(bytes);
  if (verdict::LooksLikeEvidence(bytes)) return Kind::kEvidence;
  if (bytes.size() > kMaxTextBytes) return Kind::kUnknown;
  if (text.starts_with("{\"payload\"")) return Kind::kReceipt;
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (text.starts_with('{') && has("\"payload\"") && has("\"signatures\"")) return Kind::kReceipt;
  if (text.starts_with('{') && has("\"checkpoint\"") && has("\"proof\"")) return Kind::kProof;
  return has("\n\n\xe2\x80\x94 ") ? Kind::kCheckpoint : Kind::kUnknown;
}

// What the order of a delivery looks like, which has a receipt's envelope around it.
bool IsOrder(ByteSpan bytes) {
  const std::string_view text = AsText(bytes).substr(0, kMaxTextBytes);
  return text.starts_with('{') && text.find("\"application/vnd.assay.order+json\"") != std::string_view::npos;
}

// What `assay log --prove` prints without --json: for people, and without the entry that would be proven.
bool IsProofForPeople(ByteSpan bytes) {
  const std::string_view text = AsText(bytes).substr(0, kMaxTextBytes);
  return text.starts_with("entry ") && text.find("\nleaf ") != std::string_view::npos;
}

}  // namespace

Verification Contradicted(std::string kind, std::string reason) {
  return {.kind = std::move(kind), .valid = false, .reason = std::move(reason)};
}

Verification Damaged(std::string kind, std::string reason) {
  return {.kind = std::move(kind), .valid = false, .damaged = true, .reason = std::move(reason)};
}

int ExitStatusOf(const Verification& verification) {
  if (!verification.valid) return kExitUndecided;
  if (*verification.valid) return verification.decides ? kExitOk : kExitUndecided;
  return verification.damaged ? kExitDamaged : kExitRefuted;
}

Result<Verification> VerifyFile(const std::string& path, const Against& against, ThreadPool& pool) {
  if (IsDirectory(path))
    return Err("{}: is a directory and no delivery ({}); assay fsck or assay audit checks a run", path,
               RunDirectory::IsRun(path) ? "it is a run" : "it has no life.jsonl");
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  if (LooksPacked(file.bytes())) {
    if (against.receipt || against.signer)
      return Err("{}: is packed data, which nobody signs; a run's data root tells which run had it", path);
    return VerifyPacked(path, pool);
  }
  if (IsProofForPeople(file.bytes())) {
    return Err("{}: is a proof as assay log --prove prints it for people; what can be checked is what it prints with --json",
               path);
  }
  if (IsOrder(file.bytes()))
    return Err("{}: is a signed order, which assay verify checks together with the folder that assay fetch left", path);
  const Kind kind = KindOf(file.bytes());
  if (against.receipt && (kind == Kind::kReceipt || kind == Kind::kEvidence)) {
    return Err("--receipt: belongs to a model, a snapshot, a checkpoint or a proof");
  }
  switch (kind) {
    case Kind::kReceipt: return VerifyReceipt(AsText(file.bytes()), path, against);
    case Kind::kCheckpoint: return VerifyCheckpoint(AsText(file.bytes()), path, against);
    case Kind::kProof: return VerifyProof(AsText(file.bytes()), path, against);
    case Kind::kEvidence: return VerifyEvidence(file.bytes(), path, against);
    case Kind::kUnknown: break;
  }
  if (own::LooksLikeClaim(file.bytes())) return Err("{}: is a claim of ownership; assay own verify checks it", path);
  const auto tensors = Safetensors::Parse(file.bytes(), path);
  if (!tensors && path.ends_with(".safetensors")) return tl::unexpected(tensors.error());
  const auto format = tensors ? FormatOf(*tensors) : TensorsFormat::kOther;
  if (format == TensorsFormat::kSnapshot) return VerifySnapshot(*tensors, against, pool);
  // With a receipt, weights are weights whatever their file says of itself.
  if (tensors && (format == TensorsFormat::kWeights || against.receipt)) return VerifyModel(*tensors, against, pool);
  return Err("{}: is not a receipt, checkpoint, proof, model, snapshot, evidence or packed data, nor a folder with a delivery",
             path);
}

bool IsSignedFile(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return file && (KindOf(file->bytes()) != Kind::kUnknown || LooksPacked(file->bytes()));
}

std::string_view KindWord(ByteSpan bytes) {
  if (LooksPacked(bytes)) return "packed data file";
  switch (KindOf(bytes)) {
    case Kind::kReceipt: return "receipt";
    case Kind::kCheckpoint: return IsProofForPeople(bytes) ? "proof" : "checkpoint";
    case Kind::kProof: return "proof";
    case Kind::kEvidence: return "file of evidence";
    case Kind::kUnknown: break;
  }
  return Safetensors::Parse(bytes, "") ? "model or snapshot" : "";
}

void AddVerification(OrderedJson& json, const Verification& verification) {
  json["kind"] = verification.kind;
  json["valid"] = ToJson(verification.valid);
  json["damaged"] = verification.damaged;
  json["reason"] = verification.reason.empty() ? OrderedJson(nullptr) : OrderedJson(verification.reason);
  json["shows"] = verification.shows;
  json["assumed"] = verification.assumed;
}

std::string VerificationText(const Verification& verification) {
  const std::string_view word = !verification.valid ? "UNCHECKED" : *verification.valid ? "VALID" : "NOT VALID";
  std::string text = fmt::format("{} {}{}{}\n", PaintedWord(word, 11, ToneOf(ExitStatusOf(verification)), stdout),
                                 verification.kind, verification.reason.empty() ? "" : ": ", verification.reason);
  std::string_view heading = "shows";
  for (const std::string& line : verification.shows) {
    text += fmt::format("{:<11} {}\n", heading, line);
    heading = "";
  }
  for (const std::string& line : verification.assumed) text += fmt::format("{:<11} {}\n", "assumed", line);
  return text;
}

}  // namespace assay::cli
