#include "assay/data/part.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/base/quote.h"
#include "assay/data/cifar10.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/data/1";
// Far above what anybody has, far below where sizes in bytes overflow.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 48;

void EncodeFields(ByteWriter& out, const TokensDescriptor& d) {
  out.String("tokens");
  out.I64(d.count);
}

void EncodeFields(ByteWriter& out, const CifarDescriptor& d) {
  out.String("cifar10");
  out.I64(d.count);
}

void EncodeFields(ByteWriter& out, const GeneratedDescriptor& d) {
  out.String("generated");
  for (std::int64_t v : {d.begin, d.end, d.classes, d.image, d.channels, d.features}) out.I64(v);
  out.F32(d.noise);
  out.U64(d.seed);
}

Result<DataDescriptor> DecodeGenerated(ByteReader& in) {
  GeneratedDescriptor d;
  for (std::int64_t* v : {&d.begin, &d.end, &d.classes, &d.image, &d.channels, &d.features}) {
    ASSAY_ASSIGN(*v, in.I64());
  }
  ASSAY_ASSIGN(d.noise, in.F32());
  ASSAY_ASSIGN(d.seed, in.U64());
  return d;
}

Result<DataDescriptor> DecodeFields(ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(const std::string kind, in.String());
  if (kind == "generated") return DecodeGenerated(in);
  if (kind != "tokens" && kind != "cifar10") return Err("{}: expected tokens, cifar10 or generated, got {}", what, Quote(kind));
  ASSAY_ASSIGN(const std::int64_t count, in.I64());
  if (kind == "tokens") return TokensDescriptor{count};
  return CifarDescriptor{count};
}

Status CheckRange(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) return Err("data: {}: expected {} .. {}, got {}", what, low, high, value);
  return {};
}

Status CheckFields(const TokensDescriptor& d) { return CheckRange("tokens", d.count, 1, kMaxCount); }
Status CheckFields(const CifarDescriptor& d) { return CheckRange("records", d.count, 1, kMaxCount); }

// The limits are those of job files (docs/JOBS.md).
Status CheckFields(const GeneratedDescriptor& d) {
  ASSAY_TRY(CheckRange("first sample", d.begin, 0, kMaxCount));
  ASSAY_TRY(CheckRange("last sample + 1", d.end, d.begin + 1, kMaxCount));
  ASSAY_TRY(CheckRange("classes", d.classes, 1, 1 << 16));
  const bool images = d.image != 0;
  ASSAY_TRY(CheckRange("image", d.image, 0, 1024));
  ASSAY_TRY(CheckRange("channels", d.channels, images ? 1 : 0, images ? 64 : 0));
  ASSAY_TRY(CheckRange("features", d.features, images ? 0 : 1, images ? 0 : 1 << 20));
  if (!(d.noise >= 0 && d.noise <= 1e6f)) return Err("data: noise: expected 0 .. 1000000, got {}", d.noise);
  return {};
}

std::vector<ArraySpec> ArraysOfKind(const TokensDescriptor& d) { return {{"tokens", {DType::kU16, {d.count}}}}; }
std::vector<ArraySpec> ArraysOfKind(const CifarDescriptor& d) {
  return {{"records", {DType::kU8, {d.count, static_cast<std::int64_t>(kCifarRecord)}}}};
}
std::vector<ArraySpec> ArraysOfKind(const GeneratedDescriptor&) { return {}; }

}  // namespace

Bytes Encode(const DataDescriptor& descriptor) {
  ByteWriter out;
  out.String(kTag);
  std::visit([&](const auto& d) { EncodeFields(out, d); }, descriptor);
  return out.Take();
}

Result<DataDescriptor> DecodeDescriptor(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: expected {}", what, kTag);
  ASSAY_ASSIGN(DataDescriptor descriptor, DecodeFields(in, what));
  ASSAY_TRY(in.End());
  ASSAY_TRY(Check(descriptor));
  return descriptor;
}

Status Check(const DataDescriptor& descriptor) {
  return std::visit([](const auto& d) { return CheckFields(d); }, descriptor);
}

std::vector<ArraySpec> ArraysOf(const DataDescriptor& descriptor) {
  return std::visit([](const auto& d) { return ArraysOfKind(d); }, descriptor);
}

DataArray::DataArray(std::vector<ByteSpan> pieces) : pieces_(std::move(pieces)) {
  for (ByteSpan piece : pieces_) size_ += piece.size();
}

// The pieces of [begin, end), none of them empty.
std::vector<ByteSpan> DataArray::Shares(std::uint64_t begin, std::uint64_t end) const {
  ASSAY_CHECK(begin <= end && end <= size_);
  std::vector<ByteSpan> shares;
  std::uint64_t first = 0;  // byte of the piece at hand
  for (ByteSpan piece : pieces_) {
    const std::uint64_t last = first + piece.size(), from = std::max(begin, first), to = std::min(end, last);
    if (from < to) shares.push_back(piece.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from)));
    first = last;
  }
  return shares;
}

ByteSpan DataArray::Fetch(std::uint64_t begin, std::uint64_t end, Bytes& scratch) const {
  const std::vector<ByteSpan> shares = Shares(begin, end);
  if (shares.empty()) return {};
  if (shares.size() == 1) return shares[0];
  scratch.clear();
  for (ByteSpan share : shares) scratch.insert(scratch.end(), share.begin(), share.end());
  return scratch;
}

DataArray DataArray::Slice(std::uint64_t begin, std::uint64_t end) const { return DataArray(Shares(begin, end)); }

}  // namespace assay
