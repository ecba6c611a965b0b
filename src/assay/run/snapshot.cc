#include "assay/run/snapshot.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "assay/base/quote.h"
#include "assay/model/import.h"

namespace assay {
namespace {

constexpr char kFormatKey[] = "assay.format";
constexpr char kSnapshotFormat[] = "assay/snapshot/1";
constexpr char kWeightsFormat[] = "assay/weights/1";
constexpr char kStepKey[] = "assay.step";
constexpr char kJobKey[] = "assay.job_id";
constexpr char kTrajectoryKey[] = "assay.trajectory_id";
constexpr char kRootKey[] = "assay.state_root";
constexpr char kLossKey[] = "assay.loss_bits";
constexpr char kValidationKey[] = "assay.val_loss_bits";
constexpr char kRoundingKey[] = "assay.rounding_root";
constexpr char kSignatureKey[] = "assay.signature";
constexpr char kCheckKey[] = "assay.check";
constexpr std::string_view kSignatureDomain = "assay/snapshot-signature/1\n";

std::string FloatBits(float v) { return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(v)); }

// Binds the metadata that no root or receipt covers.
std::string CheckOf(const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (key != kCheckKey) text += fmt::format("{}={}\n", key, value);
  }
  return HashBytes(AsBytes(text)).hex();
}

// Reads typed fields out of a file's metadata.
class MetadataReader {
 public:
  explicit MetadataReader(const Safetensors& file) : file_(file) {}

  bool Has(const char* key) const { return file_.metadata().contains(key); }
  Result<std::string> Text(const char* key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) return Err("{}: metadata has no {}, expected a snapshot", file_.what(), key);
    return found->second;
  }
  Result<Digest> Root(const char* key) const {
    ASSAY_ASSIGN(const std::string text, Text(key));
    auto digest = Digest::FromHex(text);
    if (!digest) return Err("{}: metadata {}: {}", file_.what(), key, digest.error().message);
    return digest;
  }
  Result<std::int64_t> Step(const char* key) const {
    ASSAY_ASSIGN(const std::string text, Text(key));
    std::uint32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) {
      return Err("{}: metadata {}: expected a step number, got {}", file_.what(), key, Quote(text));
    }
    return std::int64_t{value};
  }
  Result<Signature> Signed(const char* key) const {
    ASSAY_ASSIGN(const std::string text, Text(key));
    Signature signature{};
    const auto bytes = FromHex(text);
    if (!bytes || bytes->size() != signature.size()) return Err("{}: metadata {}: expected 128 hex digits", file_.what(), key);
    std::copy(bytes->begin(), bytes->end(), signature.begin());
    return signature;
  }
  Result<float> Float(const char* key) const {
    ASSAY_ASSIGN(const std::string text, Text(key));
    std::uint32_t bits = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    if (text.size() != 8 || failure != std::errc{} || end != text.data() + text.size()) {
      return Err("{}: metadata {}: expected 8 hex digits, got {}", file_.what(), key, Quote(text));
    }
    return std::bit_cast<float>(bits);
  }

 private:
  const Safetensors& file_;
};

Result<std::vector<Tensor>> LoadState(const Safetensors& file, std::span<const StateSpec> specs) {
  if (file.tensors().size() != specs.size()) {
    return Err("{}: has {} tensors, expected {}", file.what(), file.tensors().size(), specs.size());
  }
  std::vector<Tensor> state;
  state.reserve(specs.size());
  for (const StateSpec& spec : specs) {
    const StoredTensor* stored = file.Find(spec.name);
    if (stored == nullptr) return Err("{}: has no tensor {}", file.what(), spec.name);
    // Before it is loaded: a file may claim any size.
    if (!stored->Is(spec.type)) {
      return Err("{}: tensor {} is {}{}, expected {}", file.what(), spec.name, Name(stored->type), ToString(stored->shape),
                 ToString(spec.type));
    }
    ASSAY_ASSIGN(Tensor tensor, stored->Load());
    state.push_back(std::move(tensor));
  }
  return state;
}

}  // namespace

Bytes SignedMessage(const SnapshotInfo& info) {
  ByteWriter out;
  out.Raw(AsBytes(kSignatureDomain));
  out.Raw(info.trajectory.bytes);
  out.I64(info.step);
  out.Raw(info.state_root.bytes);
  out.F32(info.loss);
  if (info.rounding_root) out.Raw(info.rounding_root->bytes);
  return out.Take();
}

bool IsSignedBy(const SnapshotInfo& info, const VerifyKey& key) {
  return info.signature && key.Verify(SignedMessage(info), *info.signature);
}

namespace {

// In whatever memory it is.
std::vector<ByteSpan> ContentsOf(std::span<const Tensor> state) {
  std::vector<ByteSpan> contents;
  contents.reserve(state.size());
  for (const Tensor& tensor : state) {
    contents.emplace_back(static_cast<const std::uint8_t*>(tensor.data()), tensor.type().bytes());
  }
  return contents;
}

Digest StateRootOver(std::span<const StateSpec> specs, const std::vector<Digest>& roots) {
  ASSAY_CHECK(specs.size() == roots.size());
  std::vector<TensorEntry> entries;
  entries.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) entries.push_back({specs[i].name, specs[i].type, roots[i]});
  return StateRoot(entries);
}

}  // namespace

Digest StateRootOf(std::span<const StateSpec> specs, std::span<const Tensor> state, ThreadPool& pool) {
  for (const Tensor& tensor : state) ASSAY_CHECK(tensor.space().is_host());
  return StateRootOver(specs, TensorRoots(ContentsOf(state), pool));
}

Digest StateRootOf(std::span<const StateSpec> specs, std::span<const Tensor> state, Backend& backend) {
  for (const Tensor& tensor : state) ASSAY_CHECK(&tensor.space() == &backend.memory());
  return StateRootOver(specs, backend.TensorRoots(ContentsOf(state)));
}

std::map<std::string, std::string> ToMetadata(const SnapshotInfo& info) {
  std::map<std::string, std::string> metadata = NativeMetadata();
  metadata[kFormatKey] = info.weights_only ? kWeightsFormat : kSnapshotFormat;
  metadata[kStepKey] = std::to_string(info.step);
  metadata[kJobKey] = info.job.hex();
  metadata[kTrajectoryKey] = info.trajectory.hex();
  metadata[kRootKey] = info.state_root.hex();
  metadata[kLossKey] = FloatBits(info.loss);
  if (info.validation_loss) metadata[kValidationKey] = FloatBits(*info.validation_loss);
  if (info.rounding_root) metadata[kRoundingKey] = info.rounding_root->hex();
  if (info.signature) metadata[kSignatureKey] = Hex(*info.signature);
  metadata[kCheckKey] = CheckOf(metadata);
  return metadata;
}

TensorsFormat FormatOf(const Safetensors& file) {
  const auto found = file.metadata().find(kFormatKey);
  if (found == file.metadata().end()) return TensorsFormat::kOther;
  if (found->second == kWeightsFormat) return TensorsFormat::kWeights;
  return found->second == kSnapshotFormat ? TensorsFormat::kSnapshot : TensorsFormat::kOther;
}

Result<SnapshotInfo> SnapshotInfoOf(const Safetensors& file) {
  const MetadataReader in(file);
  ASSAY_ASSIGN(const std::string format, in.Text(kFormatKey));
  if (format != kSnapshotFormat && format != kWeightsFormat) {
    return Err("{}: metadata {}: expected {}, got {}", file.what(), kFormatKey, kSnapshotFormat, Quote(format));
  }
  SnapshotInfo info;
  info.weights_only = format == kWeightsFormat;
  ASSAY_ASSIGN(info.step, in.Step(kStepKey));
  ASSAY_ASSIGN(info.job, in.Root(kJobKey));
  ASSAY_ASSIGN(info.trajectory, in.Root(kTrajectoryKey));
  ASSAY_ASSIGN(info.state_root, in.Root(kRootKey));
  ASSAY_ASSIGN(info.loss, in.Float(kLossKey));
  if (in.Has(kValidationKey)) {
    ASSAY_ASSIGN(info.validation_loss, in.Float(kValidationKey));
  }
  if (in.Has(kRoundingKey)) {
    ASSAY_ASSIGN(info.rounding_root, in.Root(kRoundingKey));
  }
  if (in.Has(kSignatureKey)) {
    ASSAY_ASSIGN(info.signature, in.Signed(kSignatureKey));
  }
  ASSAY_ASSIGN(const std::string check, in.Text(kCheckKey));
  if (check != CheckOf(file.metadata())) return Err("{}: metadata is damaged: {} does not fit it", file.what(), kCheckKey);
  return info;
}

Status WriteSnapshot(const std::string& path, std::span<const StateSpec> specs, std::span<const Tensor> state,
                     const SnapshotInfo& info) {
  std::vector<TensorRef> tensors;
  tensors.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) tensors.push_back({specs[i].name, &state[i]});
  return WriteSafetensors(path, tensors, ToMetadata(info));
}

Result<Snapshot> ReadSnapshot(const std::string& path, std::span<const StateSpec> specs, ThreadPool& pool) {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(path));
  Snapshot snapshot;
  ASSAY_ASSIGN(snapshot.info, SnapshotInfoOf(file));
  if (snapshot.info.weights_only) return Err("{}: holds weights alone, expected a snapshot of the whole state", path);
  ASSAY_ASSIGN(snapshot.state, LoadState(file, specs));
  const Digest root = StateRootOf(specs, snapshot.state, pool);
  if (root != snapshot.info.state_root) {
    return Err("{}: state root is {}, its metadata says {}", path, root.hex(), snapshot.info.state_root.hex());
  }
  return snapshot;
}

}  // namespace assay
