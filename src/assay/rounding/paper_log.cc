#include "assay/rounding/paper_log.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/check.h"
#include "assay/rounding/compress.h"
#include "assay/rounding/follow.h"
#include "assay/rounding/log_header.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kTag = "assay/rounding-paper/2";
constexpr std::uint8_t kStored = 0;
constexpr std::uint8_t kDeflated = 1;

Bytes Pack(std::span<const std::uint8_t> symbols) {
  Bytes packed((symbols.size() + 4) / 5);
  constexpr std::uint8_t kWeights[5] = {1, 3, 9, 27, 81};
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    packed[i / 5] = static_cast<std::uint8_t>(packed[i / 5] + symbols[i] * kWeights[i % 5]);
  }
  return packed;
}

Status Unpack(ByteSpan packed, std::span<std::uint8_t> symbols, std::string_view what) {
  std::size_t next = 0;
  for (const std::uint8_t byte : packed) {
    unsigned rest = byte;
    for (int k = 0; k < 5 && next < symbols.size(); ++k) {
      symbols[next++] = static_cast<std::uint8_t>(rest % 3);
      rest /= 3;
    }
    if (rest != 0) return Err("{}: byte {} is not five symbols", what, byte);
  }
  return {};
}

// The power of two below |y|, zero for zeros and denormal numbers.
double PowerBelow(double y) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) & 0x7ff0000000000000); }

}  // namespace

std::uint8_t PaperSymbol(const numerics::Grid& grid, double y, double tau) {
  const double r = double{grid.Round(y)};
  if (!(std::fabs(y - r) > PowerBelow(y) * tau)) return kNotClose;
  return y < r ? kWentUp : kWentDown;
}

float PaperFollow(const numerics::Grid& grid, double y, std::uint8_t symbol) {
  const float r = grid.Round(y);
  if (!std::isfinite(r)) return r;
  if (y < double{r} && symbol == kWentDown) return grid.Below(r);
  if (y > double{r} && symbol == kWentUp) return grid.Above(r);
  return r;
}

bool PaperCanHave(const numerics::Grid& grid, double y, double reach, double tau, std::uint8_t symbol) {
  if (!IsFinite(y)) return false;
  const double low = y - reach, high = y + reach;
  // On both sides of a boundary everything is close, one way and the other.
  if (symbol != kNotClose && ChoiceAt(grid, y, reach).open()) return true;
  return PaperSymbol(grid, y, tau) == symbol || PaperSymbol(grid, low, tau) == symbol || PaperSymbol(grid, high, tau) == symbol;
}

bool PaperCanBeSilent(const numerics::Grid& grid, double y, double reach, double tau, float value) {
  if (!IsFinite(y)) return true;
  const double nearest = std::clamp(double{value}, y - reach, y + reach);
  return BitsOf(grid.Round(nearest)) == BitsOf(value) && PaperSymbol(grid, nearest, tau) == kNotClose;
}

bool PaperCanFollowTo(const numerics::Grid& grid, double y, double reach, std::uint8_t symbol, float value) {
  if (!IsFinite(y) || value != value) return false;
  // As near as possible to the boundary that the symbol means if it leads to this value.
  const double boundary = double{value} / 2 + double{symbol == kWentUp ? grid.Below(value) : grid.Above(value)} / 2;
  const double at = std::clamp(boundary, y - reach, y + reach);
  return BitsOf(PaperFollow(grid, IsFinite(at) ? at : y, symbol)) == BitsOf(value);
}

std::uint64_t MaxPaperLogBytes(std::uint64_t symbols) {
  return kPaperHeaderBytes + PaperHeader{.symbols = symbols}.segments() * (kPaperEntryBytes + kMaxPaperSegmentBytes);
}

std::uint64_t PaperHeader::SymbolsIn(std::uint64_t segment) const {
  return std::min(kPaperSegment, symbols - segment * kPaperSegment);
}

Result<PaperHeader> PaperHeader::Read(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: not a log of roundings (expected {})", what, kTag);
  PaperHeader header;
  ASSAY_ASSIGN(header.symbols, in.U64());
  ASSAY_ASSIGN(header.form, in.U8());
  ASSAY_TRY(in.End());
  if (header.symbols > kMaxElements) return Err("{}: {} symbols are more than a step can have", what, header.symbols);
  if (header.form > kDeflated) return Err("{}: no form has the number {}", what, header.form);
  return header;
}

Status PaperHeader::Check(std::uint64_t segment, std::uint64_t begin, std::uint64_t end, std::uint64_t coded) const {
  const bool whole = segment + 1 < segments() || end == coded;
  if (begin >= end || end > coded || end - begin > kMaxPaperSegmentBytes || !whole) {
    return Err("segment {} lies at bytes {} to {} of {}", segment, begin, end, coded);
  }
  return {};
}

Status PaperHeader::Decode(ByteSpan coded, std::span<std::uint8_t> out, std::string_view what) const {
  const std::size_t size = (out.size() + 4) / 5;
  if (form == kStored && coded.size() == size) return Unpack(coded, out, what);
  if (form == kDeflated) {
    const Result<Bytes> packed = Decompressed(coded, size);
    if (packed) return Unpack(*packed, out, what);
  }
  return Err("{}: {} bytes of form {} are not {} symbols", what, coded.size(), form, out.size());
}

Bytes EncodePaperLog(std::span<const std::uint8_t> symbols) {
  std::vector<Bytes> coded;
  // In the form that this build can write.
  const std::uint8_t form = Compressed({}) ? kDeflated : kStored;
  for (std::size_t at = 0; at < symbols.size(); at += kPaperSegment) {
    Bytes packed = Pack(symbols.subspan(at, std::min<std::size_t>(kPaperSegment, symbols.size() - at)));
    coded.push_back(form == kDeflated ? *Compressed(packed) : std::move(packed));
    ASSAY_CHECK(coded.back().size() <= kMaxPaperSegmentBytes);
  }
  ByteWriter out;
  out.String(kTag);
  out.U64(symbols.size());
  out.U8(form);
  std::uint64_t end = 0;
  for (const Bytes& segment : coded) out.U64(end += segment.size());
  for (const Bytes& segment : coded) out.Raw(segment);
  return out.Take();
}

Result<std::vector<std::uint8_t>> DecodePaperLog(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const ByteSpan head, in.Raw(std::min(kPaperHeaderBytes, bytes.size())));
  ASSAY_ASSIGN(const PaperHeader header, PaperHeader::Read(head, what));
  if (header.segments() > in.remaining() / kPaperEntryBytes)
    return Err("{}: {} bytes cannot hold {} symbols", what, in.remaining(), header.symbols);
  const std::uint64_t coded = in.remaining() - header.segments() * kPaperEntryBytes;
  std::vector<std::uint64_t> ends;
  for (std::uint64_t i = 0; i < header.segments(); ++i) {
    ASSAY_ASSIGN(const std::uint64_t end, in.U64());
    const std::uint64_t begin = ends.empty() ? 0 : ends.back();
    if (const Status good = header.Check(i, begin, end, coded); !good) return Err("{}: {}", what, good.error().message);
    // What memory is asked for before the bytes have been looked at.
    if (header.form == kDeflated && header.SymbolsIn(i) > 5 * 1032 * (end - begin)) {
      return Err("{}: {} bytes are not {} symbols", what, end - begin, header.SymbolsIn(i));
    }
    ends.push_back(end);
  }
  if (ends.empty() && coded != 0) return Err("{}: {} bytes follow a log without symbols", what, coded);
  std::vector<std::uint8_t> symbols(static_cast<std::size_t>(header.symbols));
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ASSAY_ASSIGN(const ByteSpan segment, in.Raw(static_cast<std::size_t>(ends[i] - begin)));
    const std::span<std::uint8_t> out =
        std::span(symbols).subspan(i * kPaperSegment, static_cast<std::size_t>(header.SymbolsIn(i)));
    ASSAY_TRY(header.Decode(segment, out, what));
    begin = ends[i];
  }
  return symbols;
}

TauSample TauSampleAt(const numerics::Grid& grid, double y) { return {std::fabs(y - double{grid.Round(y)}), PowerBelow(y)}; }

double FindTau(int bits, std::span<const TauSample> samples, int iterations) {
  double lower = 0.25 * 0x1p-23;
  double upper = 0.5 * numerics::Grid(bits).Spacing(1);
  for (int i = 0; i < iterations; ++i) {
    const double tau = (lower + upper) / 2;
    const bool all = std::ranges::all_of(samples, [&](const TauSample& s) { return s.distance >= s.scale * tau; });
    (all ? lower : upper) = tau;
  }
  return lower;
}

}  // namespace assay::rounding
