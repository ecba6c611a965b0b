#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"answer", RunAnswer, AnswerSeeds},
    {"arrays", RunArrays, ArraysSeeds},
    {"bpe_text", RunBpeText, BpeTextSeeds},
    {"bpe_vocabulary", RunBpeVocabulary, BpeVocabularySeeds},
    {"bundle", RunBundle, BundleSeeds},
    {"checkpoint", RunCheckpoint, CheckpointSeeds},
    {"cifar", RunCifar, CifarSeeds},
    {"claim", RunClaim, ClaimSeeds},
    {"consistency", RunConsistency, ConsistencySeeds},
    {"dispute", RunDispute, DisputeSeeds},
    {"entry_proof", RunEntryProof, EntryProofSeeds},
    {"envelope", RunEnvelope, EnvelopeSeeds},
    {"events", RunEvents, EventsSeeds},
    {"evidence", RunEvidence, EvidenceSeeds},
    {"evidence_edits", RunEvidenceEdits, EvidenceEditsSeeds, 8},
    {"hex", RunHex, HexSeeds},
    {"hf_config", RunHfConfig, HfConfigSeeds},
    {"inclusion", RunInclusion, InclusionSeeds},
    {"job", RunJob, JobSeeds},
    {"json_line", RunJsonLine, JsonLineSeeds},
    {"key", RunKey, KeySeeds},
    {"packed", RunPacked, PackedSeeds},
    {"paper_log", RunPaperLog, PaperLogSeeds},
    {"program", RunProgram, ProgramSeeds},
    {"question", RunQuestion, QuestionSeeds},
    {"range", RunRange, RangeSeeds},
    {"receipt", RunReceipt, ReceiptSeeds},
    {"rounding", RunRounding, RoundingSeeds},
    {"run", RunRun, RunSeeds},
    {"safetensors", RunSafetensors, SafetensorsSeeds},
    {"sealed", RunSealed, SealedSeeds, 4},
    {"sealing_key", RunSealingKey, SealingKeySeeds},
    {"telemetry", RunTelemetry, TelemetrySeeds, 4},
    {"terms", RunTerms, TermsSeeds},
    {"tokenizer_json", RunTokenizerJson, TokenizerJsonSeeds},
    {"tokens", RunTokens, TokensSeeds},
    {"trace", RunTrace, TraceSeeds},
    {"url", RunUrl, UrlSeeds},
    {"weights_index", RunWeightsIndex, WeightsIndexSeeds},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

std::vector<std::string_view> Pieces(ByteSpan input, std::size_t count) {
  std::string_view rest = AsText(input);
  std::vector<std::string_view> out;
  while (out.size() + 1 < count) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) break;
    out.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  out.push_back(rest);
  out.resize(count);
  return out;
}

}  // namespace assay::fuzz
