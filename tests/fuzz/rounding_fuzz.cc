// Logs of roundings: those of decisions, and those of the published rule.
#include <string>

#include "assay/base/check.h"
#include "assay/rounding/decision_log.h"
#include "assay/rounding/paper_log.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunRounding(ByteSpan input) {
  const auto log = rounding::DecodeDecisions(input, "rounding");
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
