#include "assay/rounding/decision_log.h"

#include <algorithm>
#include <array>
#include <bit>

#include "assay/base/check.h"
#include "assay/rounding/range_coder.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kTag = "assay/rounding/2";

// Symbols of `Bits` bits, the highest first; each bit has a model for each beginning.
template <int Bits>
class Tree {
 public:
  void Encode(BitEncoder& coder, std::uint32_t symbol) {
    std::uint32_t node = 1;
    for (int i = Bits - 1; i >= 0; --i) {
      const bool bit = ((symbol >> i) & 1) != 0;
      coder.Bit(models_[node], bit);
      node = 2 * node + (bit ? 1 : 0);
    }
  }
  std::uint32_t Decode(BitDecoder& coder) {
    std::uint32_t node = 1;
    for (int i = 0; i < Bits; ++i) node = 2 * node + (coder.Bit(models_[node]) ? 1 : 0);
    return node - (1u << Bits);
  }

 private:
  std::array<BitModel, 1u << Bits> models_;
};

// The models of a segment; encoder and decoder do the same with them.
struct Models {
  static constexpr int kTop = 2;  // bits below a gap's leading one that are learned
  static constexpr int kLow = 8;  // last mantissa bits, zero on coarse grids

  Tree<6> length;
  std::array<Tree<kTop>, 64> top;  // by length
  BitModel wide;
  Tree<4> modulus;
  Tree<8> exponent;
  std::array<BitModel, kLow> low;
};

void EncodeGap(BitEncoder& coder, Models& models, std::uint64_t gap) {
  const int length = static_cast<int>(std::bit_width(gap));  // at most 63
  models.length.Encode(coder, static_cast<std::uint32_t>(length));
  int rest = std::max(length - 1, 0);
  if (rest >= Models::kTop) {
    rest -= Models::kTop;
    models.top[static_cast<std::size_t>(length)].Encode(coder,
                                                        static_cast<std::uint32_t>(gap >> rest) & ((1u << Models::kTop) - 1));
  }
  coder.Raw(gap, rest);
}

std::uint64_t DecodeGap(BitDecoder& coder, Models& models) {
  const std::uint32_t length = models.length.Decode(coder);
  if (length == 0) return 0;
  std::uint64_t gap = 1;
  int rest = static_cast<int>(length) - 1;
  if (rest >= Models::kTop) {
    gap = (gap << Models::kTop) | models.top[length].Decode(coder);
    rest -= Models::kTop;
  }
  return (gap << rest) | coder.Raw(rest);
}

void EncodeValue(BitEncoder& coder, Models& models, float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  coder.Raw(bits >> 31, 1);
  models.exponent.Encode(coder, (bits >> 23) & 0xff);
  coder.Raw((bits >> Models::kLow) & 0x7fff, 23 - Models::kLow);
  for (int i = Models::kLow - 1; i >= 0; --i) coder.Bit(models.low[static_cast<std::size_t>(i)], ((bits >> i) & 1) != 0);
}

float DecodeValue(BitDecoder& coder, Models& models) {
  std::uint32_t bits = static_cast<std::uint32_t>(coder.Raw(1)) << 8;
  bits |= models.exponent.Decode(coder);
  bits = (bits << 15) | static_cast<std::uint32_t>(coder.Raw(15));
  for (int i = Models::kLow - 1; i >= 0; --i)
    bits = (bits << 1) | (coder.Bit(models.low[static_cast<std::size_t>(i)]) ? 1u : 0u);
  return std::bit_cast<float>(bits);
}

void EncodeDecision(BitEncoder& coder, Models& models, const Decision& decision) {
  coder.Bit(models.wide, decision.wide);
  if (!decision.wide) return coder.Raw(decision.up ? 1 : 0, 1);
  ASSAY_CHECK(decision.modulus <= kMaxModulus);
  models.modulus.Encode(coder, decision.modulus);
  if (decision.modulus == 0) return EncodeValue(coder, models, decision.value);
  coder.Raw(decision.residue, decision.modulus);
}

// False for a modulus that there is not.
bool DecodeDecision(BitDecoder& coder, Models& models, Decision& decision) {
  decision.wide = coder.Bit(models.wide);
  if (!decision.wide) {
    decision.up = coder.Raw(1) != 0;
    return true;
  }
  decision.modulus = static_cast<std::uint8_t>(models.modulus.Decode(coder));
  if (decision.modulus > kMaxModulus) return false;
  if (decision.modulus == 0) {
    decision.value = DecodeValue(coder, models);
  } else {
    decision.residue = static_cast<std::uint32_t>(coder.Raw(decision.modulus));
  }
  return true;
}

std::size_t SegmentsOf(std::uint64_t count) { return static_cast<std::size_t>((count + kSegment - 1) / kSegment); }

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

// The position of the first is not coded.
Bytes EncodeSegment(std::span<const Decision> decisions) {
  BitEncoder coder(4 * decisions.size());
  Models models;
  std::uint64_t next = decisions.front().position;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::uint64_t position = decisions[i].position;
    ASSAY_CHECK(position >= next);
    if (i > 0) EncodeGap(coder, models, position - next);
    next = position + 1;
    EncodeDecision(coder, models, decisions[i]);
  }
  return coder.Finish();
}

// Decisions about elements of [begin, end), the first about `begin`.
Status DecodeSegment(ByteSpan coded, std::uint64_t begin, std::uint64_t end, std::span<Decision> decisions) {
  BitDecoder coder(coded);
  Models models;
  std::uint64_t next = begin;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const std::uint64_t gap = i == 0 ? 0 : DecodeGap(coder, models);
    if (gap >= end - next) return Err("decision {} is not about one of elements {} to {}", i, begin, end);
    decisions[i].position = next + gap;
    next += gap + 1;
    if (!DecodeDecision(coder, models, decisions[i]))
      return Err("decision {} has a modulus of {} bits", i, decisions[i].modulus);
  }
  if (!coder.Whole()) return Err("cut off, or not the form in which its decisions are written");
  return {};
}

// What a log says about a segment.
struct SegmentEntry {
  std::uint32_t bytes = 0;
  std::uint64_t first = 0;  // position of its first decision
};
constexpr std::size_t kEntryBytes = 12;

Result<std::vector<SegmentEntry>> ReadEntries(ByteReader& in, std::uint64_t count, std::uint64_t elements,
                                              std::string_view what) {
  if (SegmentsOf(count) > in.remaining() / kEntryBytes)
    return Err("{}: {} bytes cannot hold {} decisions", what, in.remaining(), count);
  std::vector<SegmentEntry> entries(SegmentsOf(count));
  std::uint64_t sum = 0;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSAY_ASSIGN(entries[i].bytes, in.U32());
    ASSAY_ASSIGN(entries[i].first, in.U64());
    if (entries[i].first < next || entries[i].first >= elements) {
      return Err("{}: segment {} starts at element {} of {}, after {}", what, i, entries[i].first, elements, next);
    }
    next = entries[i].first + 1;
    const std::uint64_t decisions = std::min<std::uint64_t>(kSegment, count - i * kSegment);
    // Every decision has at least one bit of even odds.
    if (decisions > 8 * std::uint64_t{entries[i].bytes}) {
      return Err("{}: {} bytes cannot hold the {} decisions of segment {}", what, entries[i].bytes, decisions, i);
    }
    sum += entries[i].bytes;
  }
  if (sum != in.remaining()) return Err("{}: segments of {} bytes in {}", what, sum, in.remaining());
  return entries;
}

Bytes Joined(const std::vector<Bytes>& coded, const std::vector<std::uint64_t>& firsts, std::uint64_t count,
             std::uint64_t elements) {
  ASSAY_CHECK(elements <= kMaxElements);
  ByteWriter out;
  out.String(kTag);
  out.U64(elements);
  out.U64(count);
  for (std::size_t i = 0; i < coded.size(); ++i) {
    out.U32(static_cast<std::uint32_t>(coded[i].size()));
    out.U64(firsts[i]);
  }
  for (const Bytes& segment : coded) out.Raw(segment);
  return out.Take();
}

}  // namespace

Bytes EncodeDecisions(std::span<const Decision> decisions, std::uint64_t elements, ThreadPool* pool) {
  ASSAY_CHECK(decisions.empty() || decisions.back().position < elements);
  std::vector<Bytes> coded(SegmentsOf(decisions.size()));
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
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: not a log of roundings (expected {})", what, kTag);
  DecisionLog log;
  ASSAY_ASSIGN(log.elements, in.U64());
  ASSAY_ASSIGN(const std::uint64_t count, in.U64());
  if (log.elements > kMaxElements) return Err("{}: {} elements are more than a step can have", what, log.elements);
  if (count > log.elements) return Err("{}: {} decisions about {} elements", what, count, log.elements);
  ASSAY_ASSIGN(const std::vector<SegmentEntry> entries, ReadEntries(in, count, log.elements, what));
  std::vector<ByteSpan> coded;
  for (const SegmentEntry& entry : entries) {
    ASSAY_ASSIGN(const ByteSpan segment, in.Raw(entry.bytes));
    coded.push_back(segment);
  }
  log.decisions.resize(count);
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
