#include "assay/data/part.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/base/quote.h"
#include "assay/data/cifar.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/data/1";
// Far above what anybody has, far below where sizes in bytes overflow.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 48;
// Elements of one; as many as an mlp can have inputs.
constexpr std::int64_t kMaxSample = std::int64_t{1} << 24;

void EncodeFields(ByteWriter& out, const TokensDescriptor& d) {
  out.String("tokens");
  out.I64(d.count);
}

void EncodeFields(ByteWriter& out, const CifarDescriptor& d) {
  out.String(d.classes == kCifarClasses ? "cifar10" : "cifar100");
  out.I64(d.count);
  if (d.classes != kCifarClasses) out.I64(d.classes);
}

void EncodeFields(ByteWriter& out, const ArraysDescriptor& d) {
  out.String("arrays");
  out.I64(d.count);
  out.U8(static_cast<std::uint8_t>(d.dtype));
  out.U8(static_cast<std::uint8_t>(d.sample.rank()));
  for (std::int64_t extent : d.sample.dims()) out.I64(extent);
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

Result<DataDescriptor> DecodeArrays(ByteReader& in, std::string_view what) {
  ArraysDescriptor d;
  ASSAY_ASSIGN(d.count, in.I64());
  ASSAY_ASSIGN(const std::uint8_t dtype, in.U8());
  ASSAY_ASSIGN(const std::uint8_t rank, in.U8());
  if (!IsDType(dtype)) return Err("{}: inputs: type {} is none", what, dtype);
  if (rank > Shape::kMaxRank) return Err("{}: inputs: more than {} axes", what, Shape::kMaxRank);
  d.dtype = static_cast<DType>(dtype);
  for (int axis = 0; axis < rank; ++axis) {
    ASSAY_ASSIGN(const std::int64_t extent, in.I64());
    if (extent < 1) return Err("{}: inputs: an extent is {}", what, extent);
    d.sample.Append(extent);
  }
  return d;
}

Result<DataDescriptor> DecodeCifar(ByteReader& in, bool hundred, std::string_view what) {
  CifarDescriptor d;
  ASSAY_ASSIGN(d.count, in.I64());
  if (!hundred) return d;
  ASSAY_ASSIGN(d.classes, in.I64());
  if (d.classes == kCifarClasses) return Err("{}: cifar100 has 20 or 100 classes", what);
  return d;
}

Result<DataDescriptor> DecodeFields(ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(const std::string kind, in.String());
  if (kind == "generated") return DecodeGenerated(in);
  if (kind == "arrays") return DecodeArrays(in, what);
  if (kind == "cifar10" || kind == "cifar100") return DecodeCifar(in, kind == "cifar100", what);
  if (kind != "tokens") {
    return Err("{}: expected tokens, cifar10, cifar100, arrays or generated, got {}", what, Quote(kind));
  }
  ASSAY_ASSIGN(const std::int64_t count, in.I64());
  return TokensDescriptor{count};
}

Status CheckRange(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) return Err("data: {}: expected {} .. {}, got {}", what, low, high, value);
  return {};
}

Status CheckFields(const TokensDescriptor& d) { return CheckRange("tokens", d.count, 1, kMaxCount); }
Status CheckFields(const CifarDescriptor& d) {
  if (d.classes != kCifarClasses && d.classes != kCifarCoarse && d.classes != kCifarFine) {
    return Err("data: classes: expected 10, 20 or 100, got {}", d.classes);
  }
  return CheckRange("records", d.count, 1, kMaxCount);
}
Status CheckFields(const ArraysDescriptor& d) {
  if (d.dtype != DType::kF32 && d.dtype != DType::kU8) return Err("data: inputs: expected f32 or u8, got {}", Name(d.dtype));
  ASSAY_TRY(CheckRange("axes of a sample", d.sample.rank(), 1, Shape::kMaxRank - 1));
  std::int64_t elements = 1;
  for (std::int64_t extent : d.sample.dims()) {
    ASSAY_TRY(CheckRange("extent of a sample", extent, 1, kMaxSample / elements));
    elements *= extent;
  }
  return CheckRange("samples", d.count, 1, kMaxCount / elements);
}

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
  return {{"records", {DType::kU8, {d.count, static_cast<std::int64_t>(CifarRecordBytes(d.classes))}}}};
}
std::vector<ArraySpec> ArraysOfKind(const ArraysDescriptor& d) {
  Shape inputs{d.count};
  for (std::int64_t extent : d.sample.dims()) inputs.Append(extent);
  return {{"inputs", {d.dtype, inputs}}, {"labels", {DType::kI32, {d.count}}}};
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
