#include "assay/rounding/find_decision.h"

#include <algorithm>
#include <vector>

#include "assay/rounding/decision_segment.h"
#include "assay/rounding/log_header.h"
#include "assay/rounding/paper_log.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kWhat = "rounding log";

// Entries of the table of a log of decisions.
class Table {
 public:
  static Result<Table> Open(PartialLog& log, std::uint64_t elements) {
    const std::uint64_t segments = elements / kSegment + 1;
    if (log.size() < LogHeader::kBytes ||
        (log.size() - LogHeader::kBytes) / (LogHeader::kEntryBytes + kMaxSegmentBytes) > segments) {
      return Err("{}: {} bytes are no log of {} elements", kWhat, log.size(), elements);
    }
    ASSAY_ASSIGN(const Bytes head, log.Read(0, LogHeader::kBytes));
    Table table(log);
    ASSAY_ASSIGN(table.header_, LogHeader::Read(head, kWhat));
    if (table.header_.elements != elements)
      return Err("{}: is about {} elements, the step has {}", kWhat, table.header_.elements, elements);
    const std::uint64_t rest = log.size() - LogHeader::kBytes;
    if (table.header_.segments() > rest / LogHeader::kEntryBytes)
      return Err("{}: {} bytes cannot hold {} decisions", kWhat, rest, table.header_.decisions);
    table.coded_ = rest - table.header_.segments() * LogHeader::kEntryBytes;
    return table;
  }

  const LogHeader& header() const { return header_; }
  std::uint64_t coded() const { return coded_; }
  Result<LogHeader::Entry> At(std::uint64_t segment) {
    const std::uint64_t begin = LogHeader::kBytes + segment * LogHeader::kEntryBytes;
    ASSAY_ASSIGN(const Bytes bytes, log_->Read(begin, begin + LogHeader::kEntryBytes));
    return LogHeader::ReadEntry(bytes);
  }
  // The segment in which a decision about `position` would be.
  Result<std::optional<std::uint64_t>> Search(std::uint64_t position) {
    if (header_.segments() == 0) return std::nullopt;
    ASSAY_ASSIGN(const LogHeader::Entry first, At(0));
    if (position < first.first) return std::nullopt;
    std::uint64_t low = 0, high = header_.segments();
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      ASSAY_ASSIGN(const LogHeader::Entry entry, At(middle));
      (entry.first <= position ? low : high) = middle;
    }
    return low;
  }
  // The bytes of a segment whose entry was checked.
  Result<Bytes> Segment(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t base = log_->size() - coded_;
    return log_->Read(base + begin, base + end);
  }

 private:
  explicit Table(PartialLog& log) : log_(&log) {}
  PartialLog* log_;
  LogHeader header_;
  std::uint64_t coded_ = 0;
};

}  // namespace

Result<std::optional<Decision>> FindDecision(PartialLog& log, std::uint64_t elements, std::uint64_t position) {
  ASSAY_ASSIGN(Table table, Table::Open(log, elements));
  const LogHeader& header = table.header();
  ASSAY_ASSIGN(const std::optional<std::uint64_t> found, table.Search(position));
  if (!found) return std::nullopt;
  std::optional<LogHeader::Entry> before;
  if (*found > 0) {
    ASSAY_ASSIGN(before, table.At(*found - 1));
  }
  ASSAY_ASSIGN(const LogHeader::Entry entry, table.At(*found));
  ASSAY_TRY(header.Check(*found, before, entry, table.coded()));
  std::uint64_t end = elements;
  if (*found + 1 < header.segments()) {
    ASSAY_ASSIGN(const LogHeader::Entry after, table.At(*found + 1));
    ASSAY_TRY(header.Check(*found + 1, entry, after, table.coded()));
    end = after.first;
  }
  ASSAY_ASSIGN(const Bytes coded, table.Segment(before ? before->end : 0, entry.end));
  std::vector<Decision> decisions(static_cast<std::size_t>(header.DecisionsIn(*found)));
  ASSAY_TRY(DecodeSegment(coded, entry.first, end, decisions));
  const auto at = std::ranges::lower_bound(decisions, position, {}, &Decision::position);
  if (at == decisions.end() || at->position != position) return std::nullopt;
  return *at;
}

Result<std::uint8_t> FindSymbol(PartialLog& log, std::uint64_t elements, std::uint64_t position) {
  if (log.size() < kPaperHeaderBytes || log.size() > MaxPaperLogBytes(elements)) {
    return Err("{}: {} bytes are no log of {} elements", kWhat, log.size(), elements);
  }
  ASSAY_ASSIGN(const Bytes head, log.Read(0, kPaperHeaderBytes));
  ASSAY_ASSIGN(const PaperHeader header, PaperHeader::Read(head, kWhat));
  if (header.symbols != elements || position >= elements)
    return Err("{}: is about {} elements, the step has {}", kWhat, header.symbols, elements);
  const std::uint64_t rest = log.size() - kPaperHeaderBytes;
  if (header.segments() > rest / kPaperEntryBytes)
    return Err("{}: {} bytes cannot hold {} symbols", kWhat, rest, header.symbols);
  const std::uint64_t segment = position / kPaperSegment, base = kPaperHeaderBytes + header.segments() * kPaperEntryBytes;
  const auto end_of = [&](std::uint64_t i) -> Result<std::uint64_t> {
    const std::uint64_t at = kPaperHeaderBytes + i * kPaperEntryBytes;
    ASSAY_ASSIGN(const Bytes bytes, log.Read(at, at + kPaperEntryBytes));
    return ByteReader(bytes, kWhat).U64();
  };
  std::uint64_t begin = 0;
  if (segment > 0) {
    ASSAY_ASSIGN(begin, end_of(segment - 1));
  }
  ASSAY_ASSIGN(const std::uint64_t end, end_of(segment));
  ASSAY_TRY(header.Check(segment, begin, end, log.size() - base));
  ASSAY_ASSIGN(const Bytes coded, log.Read(base + begin, base + end));
  std::vector<std::uint8_t> symbols(static_cast<std::size_t>(header.SymbolsIn(segment)));
  ASSAY_TRY(header.Decode(coded, symbols, kWhat));
  return symbols[static_cast<std::size_t>(position % kPaperSegment)];
}

}  // namespace assay::rounding
