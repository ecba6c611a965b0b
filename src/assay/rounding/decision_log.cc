#include "assay/rounding/decision_log.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/rounding/decision_segment.h"

namespace assay::rounding {
namespace {

// The decisions of segment i.
template <class T>
std::span<T> SegmentAt(std::span<T> decisions, std::size_t i) {
  return decisions.subspan(i * kSegment, std::min(kSegment, decisions.size() - i * kSegment));
}

// Calls body(i) for every segment.
template <class Body>
void ForSegments(std::size_t segments, ThreadPool* pool, const Body& body) {
  if (pool == nullptr) {
    for (std::size_t i = 0; i < segments; ++i) body(i);
    return;
  }
  pool->ParallelFor(static_cast<std::int64_t>(segments), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) body(static_cast<std::size_t>(i));
  });
}

// The table, checked.
Result<std::vector<LogHeader::Entry>> ReadTable(ByteReader& in, const LogHeader& header, std::string_view what) {
  if (header.segments() > in.remaining() / LogHeader::kEntryBytes)
    return Err("{}: {} bytes cannot hold {} decisions", what, in.remaining(), header.decisions);
  std::vector<LogHeader::Entry> entries;
  const std::uint64_t coded = in.remaining() - header.segments() * LogHeader::kEntryBytes;
  for (std::uint64_t i = 0; i < header.segments(); ++i) {
    ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(LogHeader::kEntryBytes));
    entries.push_back(LogHeader::ReadEntry(bytes));
    const auto before = i > 0 ? std::optional(entries[i - 1]) : std::nullopt;
    if (const Status good = header.Check(i, before, entries[i], coded); !good) return Err("{}: {}", what, good.error().message);
  }
  if (entries.empty() && coded != 0) return Err("{}: {} bytes follow a log without decisions", what, coded);
  return entries;
}

Bytes Joined(const std::vector<Bytes>& coded, const std::vector<std::uint64_t>& firsts, std::uint64_t count,
             std::uint64_t elements) {
  ASSAY_CHECK(elements <= kMaxElements);
  ByteWriter out;
  out.Raw(LogHeader{.elements = elements, .decisions = count}.Encoded());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < coded.size(); ++i) {
    end += coded[i].size();
    out.U64(end);
    out.U64(firsts[i]);
  }
  for (const Bytes& segment : coded) out.Raw(segment);
  return out.Take();
}

}  // namespace

Bytes EncodeDecisions(std::span<const Decision> decisions, std::uint64_t elements, ThreadPool* pool) {
  ASSAY_CHECK(decisions.empty() || decisions.back().position < elements);
  std::vector<Bytes> coded(LogHeader{.elements = elements, .decisions = decisions.size()}.segments());
  ForSegments(coded.size(), pool, [&](std::size_t i) { coded[i] = EncodeSegment(SegmentAt(decisions, i)); });
  std::vector<std::uint64_t> firsts;
  for (std::size_t i = 0; i < coded.size(); ++i) {
    firsts.push_back(decisions[i * kSegment].position);
    ASSAY_CHECK(i == 0 || decisions[i * kSegment - 1].position < firsts.back());
  }
  return Joined(coded, firsts, decisions.size(), elements);
}

void DecisionLogWriter::Add(std::span<const Decision> decisions) {
  count_ += decisions.size();
  pending_.insert(pending_.end(), decisions.begin(), decisions.end());
  std::size_t done = 0;
  while (pending_.size() - done > kSegment) {  // the one after it is known, so that it is not the last
    Code({pending_.begin() + static_cast<std::ptrdiff_t>(done),
          pending_.begin() + static_cast<std::ptrdiff_t>(done + kSegment)});
    done += kSegment;
    ASSAY_CHECK(pending_[done - 1].position < pending_[done].position);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
}

void DecisionLogWriter::Code(std::vector<Decision> segment) {
  firsts_.push_back(segment.front().position);
  coded_.push_back(std::async(std::launch::async, [segment = std::move(segment)] { return EncodeSegment(segment); }));
}

Bytes DecisionLogWriter::Finish(std::uint64_t elements) {
  ASSAY_CHECK(pending_.empty() || pending_.back().position < elements);
  if (!pending_.empty()) Code(std::move(pending_));
  std::vector<Bytes> coded;
  for (std::future<Bytes>& segment : coded_) coded.push_back(segment.get());
  return Joined(coded, firsts_, count_, elements);
}

Result<DecisionLog> DecodeDecisions(ByteSpan bytes, std::string_view what, ThreadPool* pool) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const ByteSpan head, in.Raw(LogHeader::kBytes));
  ASSAY_ASSIGN(const LogHeader header, LogHeader::Read(head, what));
  ASSAY_ASSIGN(const std::vector<LogHeader::Entry> entries, ReadTable(in, header, what));
  std::vector<ByteSpan> coded;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSAY_ASSIGN(const ByteSpan segment, in.Raw(static_cast<std::size_t>(entries[i].end - (i > 0 ? entries[i - 1].end : 0))));
    coded.push_back(segment);
  }
  DecisionLog log{.elements = header.elements, .decisions = {}};
  log.decisions.resize(header.decisions);
  std::vector<Status> statuses(entries.size());
  ForSegments(entries.size(), pool, [&](std::size_t i) {
    const std::uint64_t end = i + 1 < entries.size() ? entries[i + 1].first : log.elements;
    statuses[i] = DecodeSegment(coded[i], entries[i].first, end, SegmentAt(std::span(log.decisions), i));
  });
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    if (!statuses[i]) return Err("{}: segment {} of {}: {}", what, i, statuses.size(), statuses[i].error().message);
  }
  return log;
}

}  // namespace assay::rounding
