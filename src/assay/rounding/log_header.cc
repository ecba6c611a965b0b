#include "assay/rounding/log_header.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/rounding/decision_segment.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kTag = "assay/rounding/3";

std::uint64_t ReadU64(ByteSpan bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = (value << 8) | bytes[i];
  return value;
}

}  // namespace

std::uint64_t LogHeader::segments() const { return decisions / kSegment + (decisions % kSegment != 0 ? 1 : 0); }

std::uint64_t LogHeader::DecisionsIn(std::uint64_t segment) const {
  return std::min<std::uint64_t>(kSegment, decisions - segment * kSegment);
}

Bytes LogHeader::Encoded() const {
  ByteWriter out;
  out.String(kTag);
  out.U64(elements);
  out.U64(decisions);
  ASSAY_CHECK(out.bytes().size() == kBytes);
  return out.Take();
}

Result<LogHeader> LogHeader::Read(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: not a log of roundings (expected {})", what, kTag);
  LogHeader header;
  ASSAY_ASSIGN(header.elements, in.U64());
  ASSAY_ASSIGN(header.decisions, in.U64());
  ASSAY_TRY(in.End());
  if (header.elements > kMaxElements) return Err("{}: {} elements are more than a step can have", what, header.elements);
  if (header.decisions > header.elements)
    return Err("{}: {} decisions about {} elements", what, header.decisions, header.elements);
  return header;
}

LogHeader::Entry LogHeader::ReadEntry(ByteSpan bytes) {
  ASSAY_CHECK(bytes.size() == kEntryBytes);
  return {.end = ReadU64(bytes.first(8)), .first = ReadU64(bytes.subspan(8))};
}

Status LogHeader::Check(std::uint64_t segment, const std::optional<Entry>& before, const Entry& entry,
                        std::uint64_t coded) const {
  const std::uint64_t begin = before ? before->end : 0;
  if ((before && entry.first <= before->first) || entry.first >= elements) {
    return Err("segment {} starts at element {} of {}, not after the one before", segment, entry.first, elements);
  }
  if (entry.end <= begin || entry.end > coded || (segment + 1 == segments() && entry.end != coded)) {
    return Err("segment {} ends at byte {} of {}, after {}", segment, entry.end, coded, begin);
  }
  const std::uint64_t bytes = entry.end - begin;
  // Every decision has at least one bit of even odds.
  if (bytes > kMaxSegmentBytes || DecisionsIn(segment) > 8 * bytes) {
    return Err("{} bytes cannot hold the {} decisions of segment {}", bytes, DecisionsIn(segment), segment);
  }
  return {};
}

}  // namespace assay::rounding
