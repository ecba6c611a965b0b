#include "assay/tensor/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the published limit
constexpr std::uint64_t kMaxTensors = 1u << 20;
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kHeaderGrowth = 40;  // of what parsing makes of a byte of the header, at most

struct TypeRow {
  StoredType type;
  std::string_view name;
  std::size_t size;
  std::optional<DType> ours;
};

constexpr std::array<TypeRow, 13> kTypes = {{
    {StoredType::kBool, "BOOL", 1, std::nullopt},
    {StoredType::kU8, "U8", 1, DType::kU8},
    {StoredType::kI8, "I8", 1, std::nullopt},
    {StoredType::kI16, "I16", 2, std::nullopt},
    {StoredType::kU16, "U16", 2, DType::kU16},
    {StoredType::kF16, "F16", 2, DType::kF32},
    {StoredType::kBF16, "BF16", 2, DType::kF32},
    {StoredType::kI32, "I32", 4, DType::kI32},
    {StoredType::kU32, "U32", 4, DType::kU32},
    {StoredType::kF32, "F32", 4, DType::kF32},
    {StoredType::kF64, "F64", 8, DType::kF64},
    {StoredType::kI64, "I64", 8, DType::kI64},
    {StoredType::kU64, "U64", 8, std::nullopt},
}};

const TypeRow& Row(StoredType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::string_view WrittenName(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.ours == dtype && row.size == SizeOf(dtype)) return row.name;
  }
  CheckFailed("every dtype has a name in the format", __FILE__, __LINE__);
}

float FromHalf(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16, exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

struct Span {
  std::uint64_t begin, end;
};

// The header's parser keeps no duplicate keys, so they are looked for while it runs.
class DuplicateCheck {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth > kDepth) return false;
    if (event == nlohmann::json::parse_event_t::object_start) {
      if (keys_.size() <= static_cast<std::size_t>(depth)) keys_.resize(static_cast<std::size_t>(depth) + 1);
      keys_[static_cast<std::size_t>(depth)].clear();
    } else if (event == nlohmann::json::parse_event_t::key) {
      auto& level = keys_[static_cast<std::size_t>(depth) - 1];
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!level.emplace(key, true).second && duplicate_.empty()) duplicate_ = key.empty() ? "(empty)" : key;
    }
    return true;
  }
  const std::string& duplicate() const { return duplicate_; }

 private:
  static constexpr int kDepth = 3;  // the format nests no deeper; what does is dropped, and its tensor refused
  std::vector<std::map<std::string, bool>> keys_;
  std::string duplicate_;
};

}  // namespace

std::size_t SizeOf(StoredType type) { return Row(type).size; }
std::string_view Name(StoredType type) { return Row(type).name; }

std::optional<DType> StoredTensor::OwnType() const {
  const TypeRow& row = Row(type);
  return row.ours && SizeOf(*row.ours) == row.size ? row.ours : std::nullopt;
}

bool StoredTensor::Is(const TensorType& other) const { return Name(type) == WrittenName(other.dtype) && shape == other.shape; }

Result<Tensor> StoredTensor::Load() const {
  const auto dtype = Row(type).ours;
  if (!dtype) return Err("tensor {}: element type {} cannot be used", Quote(name), Name(type));
  Tensor out(*dtype, shape);
  if (type != StoredType::kF16 && type != StoredType::kBF16) {
    if (!data.empty()) std::memcpy(out.data(), data.data(), data.size());
    return out;
  }
  const std::span<float> values = out.Span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, data.data() + 2 * i, 2);
    values[i] = type == StoredType::kF16 ? FromHalf(bits) : std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  return out;
}

namespace {

using Json = nlohmann::json;

Result<StoredTensor> ParseEntry(const std::string& name, const Json& entry, ByteSpan data, std::string_view what, Span& place) {
  const auto wrong = [&](std::string_view expected) { return Err("{}: tensor {}: expected {}", what, Quote(name), expected); };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return wrong("an object with dtype, shape and data_offsets");
  }
  const Json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  StoredTensor out;
  out.name = name;
  if (!dtype.is_string()) return wrong("a string as dtype");
  const auto row = std::find_if(kTypes.begin(), kTypes.end(),
                                [&](const TypeRow& r) { return r.name == dtype.get_ref<const std::string&>(); });
  if (row == kTypes.end())
    return Err("{}: tensor {}: unknown dtype {}", what, Quote(name), Quote(dtype.get_ref<const std::string&>()));
  out.type = row->type;
  if (!shape.is_array() || shape.size() > Shape::kMaxRank) return wrong("a shape of at most 8 extents");
  std::uint64_t bytes = row->size;
  bool empty = false;
  for (const Json& extent : shape) {
    if (!extent.is_number_unsigned()) return wrong("extents that are integers >= 0");
    const auto d = extent.get<std::uint64_t>();
    // The product of the other extents is bounded by the file even when one extent is 0, so that Shape's arithmetic cannot overflow.
    if (d > (std::uint64_t{1} << 40) || (d > 0 && bytes > (std::uint64_t{1} << 44) / d))
      return wrong("a shape that fits the file");
    if (d > 0) bytes *= d;
    empty = empty || d == 0;
    out.shape.Append(static_cast<std::int64_t>(d));
  }
  if (empty) bytes = 0;
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) {
    return wrong("two data_offsets");
  }
  place = {offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
  if (place.begin > place.end || place.end > data.size()) {
    return Err("{}: tensor {}: data_offsets {} .. {} lie outside the {} bytes of data", what, Quote(name), place.begin,
               place.end, data.size());
  }
  if (place.end - place.begin != bytes) {
    return Err("{}: tensor {}: {}{} takes {} bytes, data_offsets give {}", what, Quote(name), row->name, ToString(out.shape),
               bytes, place.end - place.begin);
  }
  out.data = data.subspan(static_cast<std::size_t>(place.begin), static_cast<std::size_t>(bytes));
  return out;
}

Status CheckCoverage(std::vector<Span> places, std::uint64_t size, std::string_view what) {
  std::sort(places.begin(), places.end(),
            [](const Span& a, const Span& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t reached = 0;
  for (const Span& place : places) {
    if (place.begin != reached)
      return Err("{}: the tensors' data {} at byte {}", what, place.begin < reached ? "overlap" : "leave a gap", reached);
    reached = place.end;
  }
  if (reached != size) return Err("{}: the tensors take {} bytes of data, the file has {}", what, reached, size);
  return {};
}

// What the header says about a tensor, apart from where its data lies.
struct HeaderRow {
  std::string_view name, type;
  std::span<const std::int64_t> dims;
  std::uint64_t bytes = 0;
};

// Rows in name order, which is that of the data.
std::string Header(std::span<const HeaderRow> rows, const std::map<std::string, std::string>& metadata) {
  // Json objects are ordered maps, so keys come out sorted; the format wants nothing but offsets to be in data order.
  Json root = Json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const HeaderRow& row : rows) {
    const std::uint64_t end = at + row.bytes;
    root[std::string(row.name)] = {{"dtype", row.type},
                                   {"shape", std::vector<std::int64_t>(row.dims.begin(), row.dims.end())},
                                   {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  return text;
}

std::string Header(std::span<const TensorRef> tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<HeaderRow> rows;
  for (const TensorRef& ref : tensors) {
    rows.push_back({ref.name, WrittenName(ref.tensor->dtype()), ref.tensor->shape().dims(), ref.tensor->type().bytes()});
  }
  return Header(rows, metadata);
}

Result<std::vector<TensorRef>> Sorted(std::span<const TensorRef> tensors) {
  std::vector<TensorRef> sorted(tensors.begin(), tensors.end());
  std::sort(sorted.begin(), sorted.end(), [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].name.empty() || sorted[i].name == "__metadata__")
      return Err("safetensors: {} cannot name a tensor", Quote(sorted[i].name));
    if (i > 0 && sorted[i].name == sorted[i - 1].name)
      return Err("safetensors: two tensors are called {}", Quote(sorted[i].name));
  }
  return sorted;
}

// The bytes in front of the tensors' data.
Bytes Front(const std::string& header) {
  ByteWriter out;
  out.U64(header.size());
  out.Raw(AsBytes(header));
  return out.Take();
}

}  // namespace

Result<Safetensors> Safetensors::Parse(ByteSpan bytes, std::string_view what, Allowance& allowance) {
  if (bytes.size() < kLengthBytes)
    return Err("{}: is not a safetensors file: it has {} bytes, fewer than the length of a header takes", what, bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeader)
    return Err("{}: is not a safetensors file: it names a header of {} bytes, at most {} are allowed", what, length,
               kMaxHeader);
  if (length > bytes.size() - kLengthBytes)
    return Err("{}: header of {} bytes, the file ends after {}", what, length, bytes.size() - kLengthBytes);
  const ByteSpan header = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
  const ByteSpan data = bytes.subspan(kLengthBytes + static_cast<std::size_t>(length));
  if (header.empty() || header[0] != '{')
    return Err("{}: is not a safetensors file: its header does not begin with '{{'", what);

  ASSAY_ASSIGN(const auto parsing, allowance.Borrow(kHeaderGrowth * length));
  DuplicateCheck duplicates;
  const Json root = Json::parse(header.begin(), header.end(), std::ref(duplicates), false);
  if (root.is_discarded() || !root.is_object()) return Err("{}: the header is not a JSON object", what);
  if (!duplicates.duplicate().empty()) return Err("{}: the header has the key {} twice", what, Quote(duplicates.duplicate()));
  if (root.size() > kMaxTensors) return Err("{}: {} tensors, at most {} allowed", what, root.size(), kMaxTensors);

  Safetensors out;
  out.what_ = what;
  out.bytes_ = bytes;
  std::vector<Span> places;
  for (const auto& [name, entry] : root.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return Err("{}: __metadata__: expected an object of strings", what);
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return Err("{}: __metadata__: {}: expected a string", what, Quote(key));
        out.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    Span place{};
    ASSAY_ASSIGN(StoredTensor tensor, ParseEntry(name, entry, data, what, place));
    places.push_back(place);
    out.tensors_.push_back(std::move(tensor));
  }
  ASSAY_TRY(CheckCoverage(std::move(places), data.size(), what));
  return out;
}

Result<Safetensors> Safetensors::Open(const std::string& path, Allowance& allowance) {
  ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
  ASSAY_ASSIGN(Safetensors out, Parse(file.bytes(), path, allowance));
  out.file_ = std::move(file);
  return out;
}

Result<Safetensors> Safetensors::Parse(ByteSpan bytes, std::string_view what) {
  Allowance everything;
  return Parse(bytes, what, everything);
}

Result<Safetensors> Safetensors::Open(const std::string& path) {
  Allowance everything;
  return Open(path, everything);
}

const StoredTensor* Safetensors::Find(std::string_view name) const {
  const auto it = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const StoredTensor& t, std::string_view n) { return t.name < n; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

bool Safetensors::IsCanonical() const {
  std::vector<HeaderRow> rows;
  for (const StoredTensor& tensor : tensors_) {
    const TypeRow& type = Row(tensor.type);
    if (tensor.name.empty() || !type.ours || SizeOf(*type.ours) != type.size) return false;  // others may write such, we do not
    rows.push_back({tensor.name, type.name, tensor.shape.dims(), tensor.data.size()});
  }
  // The header holds the offsets, so that one of the same bytes says that the data lies where it would be written.
  const Bytes front = Front(Header(rows, metadata_));
  return front.size() <= bytes_.size() && std::equal(front.begin(), front.end(), bytes_.begin());
}

Result<Bytes> EncodeSafetensors(std::span<const TensorRef> tensors, const std::map<std::string, std::string>& metadata) {
  ASSAY_ASSIGN(std::vector<TensorRef> sorted, Sorted(tensors));
  Bytes out = Front(Header(sorted, metadata));
  for (const TensorRef& ref : sorted) out.insert(out.end(), ref.tensor->bytes().begin(), ref.tensor->bytes().end());
  return out;
}

Status WriteSafetensors(const std::string& path, std::span<const TensorRef> tensors,
                        const std::map<std::string, std::string>& metadata) {
  ASSAY_ASSIGN(std::vector<TensorRef> sorted, Sorted(tensors));
  return WriteFileAtomic(path, [&](FileSink& sink) -> Status {
    ASSAY_TRY(sink.Write(Front(Header(sorted, metadata))));
    for (const TensorRef& ref : sorted) ASSAY_TRY(sink.Write(ref.tensor->bytes()));
    return {};
  });
}

}  // namespace assay
