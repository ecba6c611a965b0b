#include "assay/train/starting_weights.h"

#include <algorithm>

#include "assay/model/import.h"

namespace assay {
namespace {

constexpr std::size_t kHashedAtOnce = std::size_t{1} << 24;
constexpr std::string_view kFilesTag = "assay/weights/1";

Result<Digest> HashOf(const Safetensors& file, Allowance& allowance) {
  Sha256 hash;
  for (ByteSpan rest = file.bytes(); !rest.empty();) {
    ASSAY_TRY(allowance.Check());
    const ByteSpan piece = rest.first(std::min(rest.size(), kHashedAtOnce));
    hash.Update(piece);
    rest = rest.subspan(piece.size());
  }
  return hash.Finish();
}

}  // namespace

Result<Digest> IdentityOf(const WeightFiles& weights, Allowance& allowance) {
  if (weights.files().size() == 1) return HashOf(weights.files()[0], allowance);
  ByteWriter out;
  out.String(std::string(kFilesTag));
  out.U64(weights.files().size());
  for (const Safetensors& file : weights.files()) {
    ASSAY_ASSIGN(const Digest digest, HashOf(file, allowance));
    out.Raw(digest.bytes);
  }
  return HashBytes(out.bytes());
}

Result<Digest> CheckStartingWeights(const std::string& path, const ModelConfig& model, Allowance& allowance) {
  ASSAY_ASSIGN(const WeightFiles weights, WeightFiles::Open(path, allowance));
  ASSAY_TRY(CheckImport(model, weights.files()));
  for (const Safetensors& file : weights.files()) ASSAY_TRY(allowance.Take(file.bytes().size(), Allowance::Kind::kMapped));
  return IdentityOf(weights, allowance);
}

Status LoadStartingWeights(const std::string& path, const ModelConfig& model, std::span<const StateSpec> specs,
                           std::span<Tensor> state) {
  ASSAY_ASSIGN(const WeightFiles weights, WeightFiles::Open(path));
  return ImportWeights(model, weights.files(), specs, state);
}

}  // namespace assay
