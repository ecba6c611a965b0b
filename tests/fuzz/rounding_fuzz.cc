// Logs of roundings: those of decisions, and those of the published rule.
#include <algorithm>
#include <cstring>
#include <string>

#include "assay/base/check.h"
#include "assay/rounding/decision_log.h"
#include "assay/rounding/decision_segment.h"
#include "assay/rounding/find_decision.h"
#include "assay/rounding/paper_log.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

namespace {

class Whole : public rounding::PartialLog {
 public:
  explicit Whole(ByteSpan bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) override {
    ASSAY_CHECK(begin < end && end <= bytes_.size());
    const ByteSpan part = bytes_.subspan(begin, end - begin);
    return Bytes(part.begin(), part.end());
  }

 private:
  ByteSpan bytes_;
};

// Some elements, spread over all there are.
std::vector<std::uint64_t> Positions(std::uint64_t elements) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t i = 0; i < 16 && elements > 0; ++i) positions.push_back((elements / 16 * i + i) % elements);
  return positions;
}

}  // namespace

void RunRounding(ByteSpan input) {
  const auto log = rounding::DecodeDecisions(input, "rounding");
  // What is found of a part is what the whole says, where that says anything; otherwise whatever it is.
  std::uint64_t elements = log ? log->elements : 0;
  if (!log && input.size() >= 28) std::memcpy(&elements, input.data() + 20, sizeof elements);
  for (const std::uint64_t position : Positions(elements)) {
    Whole whole(input);
    const auto found = rounding::FindDecision(whole, elements, position);
    if (!log) continue;
    const auto at = std::ranges::lower_bound(log->decisions, position, {}, &rounding::Decision::position);
    const bool there = at != log->decisions.end() && at->position == position;
    ASSAY_CHECK(found && found->has_value() == there && (!there || **found == *at));
  }
  if (!log) {
    ASSAY_CHECK(log.error().message.find('\n') == std::string::npos);
    return;
  }
  ASSAY_CHECK(log->decisions.size() <= 8 * input.size());
  std::uint64_t next = 0;
  for (const rounding::Decision& decision : log->decisions) {
    ASSAY_CHECK(decision.position >= next && decision.position < log->elements);
    next = decision.position + 1;
  }
  const Bytes again = rounding::EncodeDecisions(log->decisions, log->elements);
  ASSAY_CHECK(again == Bytes(input.begin(), input.end()));
}

void RunPaperLog(ByteSpan input) {
  const auto symbols = rounding::DecodePaperLog(input, "paper_log");
  std::uint64_t elements = symbols ? symbols->size() : 0;
  if (!symbols && input.size() >= 34) std::memcpy(&elements, input.data() + 26, sizeof elements);
  for (const std::uint64_t position : Positions(elements)) {
    Whole whole(input);
    const auto found = rounding::FindSymbol(whole, elements, position);
    ASSAY_CHECK(!symbols || (found && *found == (*symbols)[position]));
  }
  if (!symbols) return;
  for (const std::uint8_t symbol : *symbols) ASSAY_CHECK(symbol <= rounding::kWentUp);
  const auto again = rounding::DecodePaperLog(rounding::EncodePaperLog(*symbols), "paper_log");
  ASSAY_CHECK(again && *again == *symbols);
}

std::vector<Bytes> RoundingSeeds() {
  std::vector<rounding::Decision> decisions;
  for (std::uint64_t i = 0; i < 40; ++i) {
    decisions.push_back({.position = i * i * 37,
                         .wide = i % 7 == 3,
                         .up = i % 7 != 3 && i % 2 == 0,
                         .value = i % 7 == 3 ? 0.25f * static_cast<float>(i) : 0});
  }
  // More than a segment.
  std::vector<rounding::Decision> many;
  for (std::uint64_t i = 0; i < rounding::kSegment + 10; ++i) many.push_back({.position = i + i / 100, .up = i % 3 == 0});
  return {rounding::EncodeDecisions({}, 0), rounding::EncodeDecisions(decisions, 100000),
          rounding::EncodeDecisions(std::span(decisions).first(1), 1), rounding::EncodeDecisions(many, 5000)};
}

std::vector<Bytes> PaperLogSeeds() {
  std::vector<std::uint8_t> symbols(93, rounding::kNotClose);
  symbols[7] = rounding::kWentUp;
  symbols[92] = rounding::kWentDown;
  return {rounding::EncodePaperLog(symbols), rounding::EncodePaperLog({})};
}

}  // namespace assay::fuzz
