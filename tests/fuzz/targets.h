// The parsers of outside bytes, each as a function that must survive any input: no crash, no sanitizer report, no run-away time or memory, and
// what it accepts must hold together (a decoded thing encodes to the same bytes, a loaded sample lies in range).
//
// libFuzzer runs each in a binary of its own (ASSAY_FUZZ); regression_test.cc runs them all under gtest with any compiler.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"

namespace assay::fuzz {

struct Target {
  std::string_view name;
  void (*run)(ByteSpan input);
  std::vector<Bytes> (*seeds)();  // valid or nearly valid inputs to start from
  std::uint64_t cost = 1;         // the regression test gives it one in so many of the mutations that others get
};

// In name order.
std::span<const Target> Targets();

inline std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
inline Bytes ToBytes(std::string_view text) { return {text.begin(), text.end()}; }

// Up to `count` pieces of the input, cut at bytes of value 0; the last takes the rest.
std::vector<std::string_view> Pieces(ByteSpan input, std::size_t count);

void RunAnswer(ByteSpan input);
void RunArrays(ByteSpan input);
void RunBpeText(ByteSpan input);
void RunBpeVocabulary(ByteSpan input);
void RunBundle(ByteSpan input);
void RunCheckpoint(ByteSpan input);
void RunCifar(ByteSpan input);
void RunClaim(ByteSpan input);
void RunConsistency(ByteSpan input);
void RunDispute(ByteSpan input);
void RunEntryProof(ByteSpan input);
void RunEnvelope(ByteSpan input);
void RunEvents(ByteSpan input);
void RunEvidence(ByteSpan input);
void RunEvidenceEdits(ByteSpan input);
void RunHex(ByteSpan input);
void RunHfConfig(ByteSpan input);
void RunInclusion(ByteSpan input);
void RunJob(ByteSpan input);
void RunJsonLine(ByteSpan input);
void RunKey(ByteSpan input);
void RunPacked(ByteSpan input);
void RunPaperLog(ByteSpan input);
void RunProgram(ByteSpan input);
void RunQuestion(ByteSpan input);
void RunRange(ByteSpan input);
void RunReceipt(ByteSpan input);
void RunRounding(ByteSpan input);
void RunRun(ByteSpan input);
void RunSafetensors(ByteSpan input);
void RunSealed(ByteSpan input);
void RunSealingKey(ByteSpan input);
void RunTelemetry(ByteSpan input);
void RunTerms(ByteSpan input);
void RunTokenizerJson(ByteSpan input);
void RunTokens(ByteSpan input);
void RunTrace(ByteSpan input);
void RunUrl(ByteSpan input);
void RunWeightsIndex(ByteSpan input);
std::vector<Bytes> AnswerSeeds();
std::vector<Bytes> ArraysSeeds();
std::vector<Bytes> BpeTextSeeds();
std::vector<Bytes> BpeVocabularySeeds();
std::vector<Bytes> BundleSeeds();
std::vector<Bytes> CheckpointSeeds();
std::vector<Bytes> CifarSeeds();
std::vector<Bytes> ClaimSeeds();
std::vector<Bytes> ConsistencySeeds();
std::vector<Bytes> DisputeSeeds();
std::vector<Bytes> EntryProofSeeds();
std::vector<Bytes> EnvelopeSeeds();
std::vector<Bytes> EventsSeeds();
std::vector<Bytes> EvidenceSeeds();
std::vector<Bytes> EvidenceEditsSeeds();
std::vector<Bytes> HexSeeds();
std::vector<Bytes> HfConfigSeeds();
std::vector<Bytes> InclusionSeeds();
std::vector<Bytes> JobSeeds();
std::vector<Bytes> JsonLineSeeds();
std::vector<Bytes> KeySeeds();
std::vector<Bytes> PackedSeeds();
std::vector<Bytes> PaperLogSeeds();
std::vector<Bytes> ProgramSeeds();
std::vector<Bytes> QuestionSeeds();
std::vector<Bytes> RangeSeeds();
std::vector<Bytes> ReceiptSeeds();
std::vector<Bytes> RoundingSeeds();
std::vector<Bytes> RunSeeds();
std::vector<Bytes> SafetensorsSeeds();
std::vector<Bytes> SealedSeeds();
std::vector<Bytes> SealingKeySeeds();
std::vector<Bytes> TelemetrySeeds();
std::vector<Bytes> TermsSeeds();
std::vector<Bytes> TokenizerJsonSeeds();
std::vector<Bytes> TokensSeeds();
std::vector<Bytes> TraceSeeds();
std::vector<Bytes> UrlSeeds();
std::vector<Bytes> WeightsIndexSeeds();

}  // namespace assay::fuzz
