// The published rule of optimistic verifiable training, to measure against (docs/ROUNDING.md, section 6): every element has one of three symbols. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/numerics/grid.h"

namespace assay::rounding {

inline constexpr std::uint8_t kWentDown = 0;
inline constexpr std::uint8_t kNotClose = 1;
inline constexpr std::uint8_t kWentUp = 2;

// What who trains writes about y: which way it was rounded, if it is farther from its rounded value than tau times the power of two below |y|.
std::uint8_t PaperSymbol(const numerics::Grid& grid, double y, double tau);
// What who follows rounds its own y to.
float PaperFollow(const numerics::Grid& grid, double y, std::uint8_t symbol);

// Whether some evaluation within `reach` of y has this symbol: the one that who follows computes y itself and is at most so far from it.
bool PaperCanHave(const numerics::Grid& grid, double y, double reach, double tau, std::uint8_t symbol);
// Whether some evaluation within `reach` of y rounds to `value` and is not close.
bool PaperCanBeSilent(const numerics::Grid& grid, double y, double reach, double tau, float value);
// Whether who follows this symbol with an evaluation within `reach` of y can come to `value`.
bool PaperCanFollowTo(const numerics::Grid& grid, double y, double reach, std::uint8_t symbol, float value);

// Symbols are cut into segments, each packed five to a byte and compressed by itself (docs/formats/rounding.md).
inline constexpr std::uint64_t kPaperSegment = 5 * 65536;             // symbols
inline constexpr std::uint64_t kMaxPaperSegmentBytes = 65536 + 1024;  // compressors add a little to what cannot be compressed
inline constexpr std::size_t kPaperHeaderBytes = 35,
                             kPaperEntryBytes = 8;  // of the header, and of an entry of the table that follows it

// Of a log of so many symbols, which are at most kMaxElements.
std::uint64_t MaxPaperLogBytes(std::uint64_t symbols);

struct PaperHeader {
  std::uint64_t symbols = 0;
  std::uint8_t form = 0;  // 0 packed, 1 packed and compressed

  std::uint64_t segments() const { return symbols / kPaperSegment + (symbols % kPaperSegment != 0 ? 1 : 0); }
  std::uint64_t SymbolsIn(std::uint64_t segment) const;
  static Result<PaperHeader> Read(ByteSpan bytes, std::string_view what);  // kPaperHeaderBytes, or fewer
  // Whether a segment can lie at [begin, end) of so many coded bytes. The last must end with them.
  Status Check(std::uint64_t segment, std::uint64_t begin, std::uint64_t end, std::uint64_t coded) const;
  // As many symbols as there is room for.
  Status Decode(ByteSpan coded, std::span<std::uint8_t> symbols, std::string_view what) const;
};

Bytes EncodePaperLog(std::span<const std::uint8_t> symbols);
// Errors as of PaperHeader::Decode.
Result<std::vector<std::uint8_t>> DecodePaperLog(ByteSpan bytes, std::string_view what);

// An element that two evaluations rounded differently: how far from its rounded value it was, and the power of two below its magnitude.
struct TauSample {
  double distance = 0;
  double scale = 0;
};
TauSample TauSampleAt(const numerics::Grid& grid, double y);
// The largest threshold found by binary search under which all samples would have been written: 2^-25 or above, below half a spacing.
double FindTau(int bits, std::span<const TauSample> samples, int iterations = 32);

}  // namespace assay::rounding
