// A job read back from its canonical encoding: the visitor that wrote the fields walks over them again.
#include <algorithm>
#include <bit>

#include "assay/job/fields.h"
#include "assay/job/limits.h"
#include "assay/ops/table.h"

namespace assay {
namespace {

// Fills in the fields that are encoded; the rest keep their defaults. The first field that does not fit is remembered, and ends the reading.
class Decoder : public job::FieldVisitor {
 public:
  explicit Decoder(ByteReader& in) : in_(in) {}
  const Status& status() const { return status_; }
  bool OfEncoding() const override { return true; }

  void Section(std::string_view name) override { section_ = name; }
  void Int(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) override {
    if (!Begin(key, 1)) return;
    const auto value = in_.I64();
    if (!value || *value < low || *value > high) return Fail(key);
    v = *value;
  }
  void Derived(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high, std::string_view) override {
    Int(key, v, low, high);
  }
  void Rare(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) override {
    if (Next(key)) Int(key, v, low, high);
  }
  void Float(std::string_view key, float& v, job::FloatRange range) override {
    if (!Begin(key, 2)) return;
    const auto value = in_.F32();
    if (!value || !range.Contains(*value)) return Fail(key);
    v = *value;
  }
  void RareFloat(std::string_view key, float& v, float, job::FloatRange range) override {
    if (Next(key)) Float(key, v, range);
  }
  void Bool(std::string_view key, bool& v) override {
    if (!Begin(key, 3)) return;
    const auto value = in_.U8();
    if (!value || *value > 1) return Fail(key);
    v = *value == 1;
  }
  void RareBool(std::string_view key, bool& v) override {
    if (Next(key)) Bool(key, v);
  }
  void Text(std::string_view key, std::string& v) override {
    if (!Begin(key, 4)) return;
    auto value = in_.String();
    if (!value) return Fail(key);
    v = std::move(*value);
  }
  void Path(std::string_view, std::string&) override {}
  void Hash(std::string_view key, std::optional<Digest>& v) override {
    if (!Next(key) || !Begin(key, 4)) return;
    const auto text = in_.String();
    const auto digest = text ? Digest::FromHex(*text) : tl::unexpected(text.error());
    if (!digest) return Fail(key);
    v = *digest;
  }
  void Choice(std::string_view key, std::size_t& v, std::span<const std::string_view> names, bool) override {
    if (!Begin(key, 4)) return;
    const auto value = in_.String();
    const auto found = value ? std::ranges::find(names, *value) : names.end();
    if (found == names.end()) return Fail(key);
    v = static_cast<std::size_t>(found - names.begin());
  }
  void Ints(std::string_view key, std::vector<std::int64_t>& v, std::int64_t low, std::int64_t high,
            std::size_t most) override {
    if (!Begin(key, 5)) return;
    const auto count = in_.U64();
    if (!count || *count > most) return Fail(key);
    v.clear();
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto value = in_.I64();
      if (!value || *value < low || *value > high) return Fail(key);
      v.push_back(*value);
    }
  }
  void OpNumbers(std::string_view key, std::map<std::string, float>& v, job::FloatRange range) override {
    if (!Next(key) || !Begin(key, 6)) return;
    const auto count = in_.U64();
    if (!count || *count > Ops().size()) return Fail(key);
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto op = in_.String();
      const auto number = in_.F32();
      if (!op || !number || !Ops().FindName(*op) || !range.Contains(*number)) return Fail(key);
      v[*op] = *number;
    }
  }

 private:
  std::string FullName(std::string_view key) const {
    return section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key);
  }
  // Whether a key that may be left out is there.
  bool Next(std::string_view key) const {
    ByteReader ahead = in_;
    const auto next = ahead.String();
    return next && *next == FullName(key);
  }
  // Whether this key is encoded and next.
  bool Begin(std::string_view key, std::uint8_t type) {
    if (!status_ || !job::Identifies(section_, key)) return false;
    const auto found = in_.String();
    const auto kind = found && *found == FullName(key) ? in_.U8() : Result<std::uint8_t>(0);
    if (kind && *kind == type) return true;
    Fail(key);
    return false;
  }
  void Fail(std::string_view key) {
    if (status_) status_ = Err("job encoding: expected {}{}{}", section_, section_.empty() ? "" : ".", key);
  }
  ByteReader& in_;
  std::string section_;
  Status status_{};
};

Result<JobInputs> ReadInputs(ByteReader& in) {
  JobInputs inputs;
  const auto read = [&](Digest& digest) -> Status {
    ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(32));
    std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
    return {};
  };
  ASSAY_TRY(read(inputs.data));
  ASSAY_ASSIGN(const std::uint8_t has_weights, in.U8());
  if (has_weights == 1) {
    inputs.weights.emplace();
    ASSAY_TRY(read(*inputs.weights));
  }
  return inputs;
}

Result<DecodedJob> DecodeAs(ByteSpan bytes, DataKind kind) {
  ByteReader in(bytes, "job encoding");
  ASSAY_ASSIGN(const ByteSpan magic, in.Raw(job::kMagic.size()));
  if (!std::ranges::equal(magic, AsBytes(job::kMagic))) return Err("job encoding: expected {}", job::kMagic);
  ASSAY_ASSIGN(const std::uint32_t version, in.U32());
  if (version != job::kVersion) return Err("job encoding: expected version {}, got {}", job::kVersion, version);
  ASSAY_ASSIGN(const std::string rule, in.String());
  if (rule != job::kOrderRule) return Err("job encoding: expected the order rule {}", job::kOrderRule);
  DecodedJob decoded{.job = job::BlankJob(), .inputs = {}};
  ASSAY_ASSIGN(decoded.inputs, ReadInputs(in));
  decoded.job.data = job::BlankData(kind);
  Decoder decoder(in);
  job::Visit(decoder, decoded.job);
  ASSAY_TRY(decoder.status());
  ASSAY_TRY(in.End());
  if (decoded.job.seed_from) decoded.job.seed = SeedFrom(decoded.inputs.data, *decoded.job.seed_from);
  const Bytes again = Encode(decoded.job, decoded.inputs);
  if (!std::ranges::equal(again, bytes)) return Err("job encoding: is not the one encoding of its job");
  return decoded;
}

}  // namespace

// Which kind of data it was is not encoded, only what that kind's samples are cut by; of the kinds with the same keys any will do.
Result<DecodedJob> DecodeJob(ByteSpan bytes) {
  if (bytes.size() > kMaxJobBytes) return Err("job encoding: {} bytes, at most {} allowed", bytes.size(), kMaxJobBytes);
  Result<DecodedJob> decoded = DecodeAs(bytes, DataKind::kTokens);
  for (const DataKind kind : {DataKind::kCifar10, DataKind::kFeatures, DataKind::kArrays}) {
    if (decoded) break;
    if (auto other = DecodeAs(bytes, kind)) decoded = std::move(other);
  }
  return decoded;
}

}  // namespace assay
