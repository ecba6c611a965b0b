#include "assay/rounding/paper_log.h"

#ifdef ASSAY_HAVE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/check.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kTag = "assay/rounding-paper/1";
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

Result<std::vector<std::uint8_t>> Unpack(ByteSpan packed, std::uint64_t count, std::string_view what) {
  std::vector<std::uint8_t> symbols(count);
  std::size_t next = 0;
  for (const std::uint8_t byte : packed) {
    unsigned rest = byte;
    for (int k = 0; k < 5 && next < count; ++k) {
      symbols[next++] = static_cast<std::uint8_t>(rest % 3);
      rest /= 3;
    }
    if (rest != 0) return Err("{}: byte {} is not five symbols", what, byte);
  }
  return symbols;
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

Bytes EncodePaperLog(std::span<const std::uint8_t> symbols) {
  const Bytes packed = Pack(symbols);
  ByteWriter out;
  out.String(kTag);
  out.U64(symbols.size());
#ifdef ASSAY_HAVE_ZLIB
  uLongf size = compressBound(packed.size());
  Bytes deflated(size);
  ASSAY_CHECK(compress(deflated.data(), &size, packed.data(), packed.size()) == Z_OK);
  out.U8(kDeflated);
  out.Raw(ByteSpan(deflated).first(size));
#else
  out.U8(kStored);
  out.Raw(packed);
#endif
  return out.Take();
}

Result<std::vector<std::uint8_t>> DecodePaperLog(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: not a log of roundings (expected {})", what, kTag);
  ASSAY_ASSIGN(const std::uint64_t count, in.U64());
  ASSAY_ASSIGN(const std::uint8_t form, in.U8());
  ASSAY_ASSIGN(const ByteSpan body, in.Raw(in.remaining()));
  const std::uint64_t size = count / 5 + (count % 5 != 0 ? 1 : 0);
  if (form == kStored && body.size() == size) return Unpack(body, count, what);
#ifdef ASSAY_HAVE_ZLIB
  // Deflate makes at most 1032 bytes of one.
  if (form == kDeflated && size <= 1032 * std::uint64_t{body.size()}) {
    Bytes packed(size + 1);
    uLongf got = size + 1;
    uLong used = body.size();
    if (uncompress2(packed.data(), &got, body.data(), &used) == Z_OK && got == size && used == body.size()) {
      return Unpack(ByteSpan(packed).first(size), count, what);
    }
  }
#endif
  return Err("{}: {} bytes of form {} are not {} symbols", what, body.size(), form, count);
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
