#include "assay/data/pack.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "assay/base/file.h"
#include "assay/data/arrays.h"
#include "assay/data/pack_inputs.h"
#include "assay/data/pack_text.h"
#include "assay/data/pack_writer.h"

namespace assay {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";
constexpr std::uint64_t kCopied = 1 << 22;
constexpr std::int64_t kListsForEach = 8;  // of pieces, for each thread at a time

double Now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A vocabulary and the files that it came from, which go into the packed file as they are.
struct Vocabulary {
  MappedFile encoder, merges;
  std::shared_ptr<const BpeTokenizer> tokenizer;  // null: each byte is its own token
};

Result<Vocabulary> OpenVocabulary(const std::string& folder) {
  Vocabulary out;
  if (folder.empty()) return out;
  Allowance everything;
  ASSAY_ASSIGN(out.tokenizer, BpeTokenizer::Open(folder, everything));
  ASSAY_ASSIGN(out.encoder, MappedFile::Open(JoinPath(folder, "encoder.json")));
  ASSAY_ASSIGN(out.merges, MappedFile::Open(JoinPath(folder, "vocab.bpe")));
  return out;
}

// The tokens of a text are below this, without the one that ends documents.
std::int64_t SizeOf(const Vocabulary& vocabulary) { return vocabulary.tokenizer ? vocabulary.tokenizer->vocabulary() : 256; }

Result<std::optional<std::uint16_t>> EndOfText(const PackOptions& options, const Vocabulary& vocabulary) {
  if (options.kind != PackKind::kText || !options.end_documents) return std::nullopt;
  if (!options.end_of_text) return vocabulary.tokenizer ? vocabulary.tokenizer->Find(kEndOfText) : std::nullopt;
  // Bytes leave one more number for a token that no text has.
  const std::int64_t most = vocabulary.tokenizer ? SizeOf(vocabulary) - 1 : 256;
  if (*options.end_of_text < 0 || *options.end_of_text > most) {
    return Err("--eot: expected a token of the vocabulary, 0 .. {}, or none, got {}", most, *options.end_of_text);
  }
  return static_cast<std::uint16_t>(*options.end_of_text);
}

// What decides the bytes of the file. Of the inputs it has what tells whether they have changed, not what they hold.
Digest PlanOf(const PackOptions& options, const PackInputs& inputs, const Vocabulary& vocabulary,
              std::optional<std::uint16_t> end_of_text) {
  ByteWriter out;
  out.String("assay/pack/1");
  out.U8(static_cast<std::uint8_t>(options.kind));
  out.String(options.field);
  out.I64(end_of_text ? std::int64_t{*end_of_text} : -1);
  out.Raw(HashBytes(vocabulary.encoder.bytes()).bytes);
  out.Raw(HashBytes(vocabulary.merges.bytes()).bytes);
  out.String(options.array_inputs);
  out.String(options.array_labels);
  out.U64(inputs.files.size());
  for (const PackInput& file : inputs.files) {
    out.String(file.path);
    out.U8(static_cast<std::uint8_t>(file.form));
    out.U64(file.facts.bytes);
    out.I64(file.facts.changed_ns);
  }
  return HashBytes(out.bytes());
}

PackReport ReportOf(const PackInputs& inputs, const PackState& state, const PackState& resumed) {
  return {.files = static_cast<std::int64_t>(inputs.files.size()),
          .skipped = inputs.skipped,
          .documents = state.documents,
          .empty = state.empty,
          .bytes = inputs.bytes,
          .resumed_bytes = resumed.read_bytes};
}

void AddHeader(const PackedHeader& header, PackReport& report) {
  report.items = ArraysOf(header.descriptor).front().type.shape[0];
  report.limit = header.limit;
  if (header.end_of_text >= 0) report.end_of_text = header.end_of_text;
  report.file_bytes = header.file_bytes();
  report.root = header.root();
}

// Packs text or tokens: lists of pieces are shared out over the threads, and written in their order.
class TokenPacker {
 public:
  TokenPacker(const PackOptions& options, const PackInputs& inputs, const Vocabulary& vocabulary,
              std::optional<std::uint16_t> end_of_text, PackWriter& writer, ThreadPool& pool, const PackHooks& hooks)
      : inputs_(inputs),
        vocabulary_(vocabulary),
        rule_{vocabulary.tokenizer.get(), end_of_text, options.field},
        writer_(writer),
        pool_(pool),
        hooks_(hooks),
        state_(writer.resumed()) {
    for (int i = 0; i < pool.threads(); ++i) workers_.emplace_back(inputs, rule_);
  }

  Result<PackReport> Run(bool text) {
    const Pretokenizer* words = vocabulary_.tokenizer ? &vocabulary_.tokenizer->tables().words : nullptr;
    PackPlanner planner(inputs_, words, hooks_.piece_bytes, state_.place);
    double saved_s = Now_s();
    while (true) {
      if (hooks_.progress) hooks_.progress(state_.read_bytes, inputs_.bytes);
      const bool stop = hooks_.should_stop && hooks_.should_stop();
      if (state_.read_bytes > 0 && (stop || Now_s() - saved_s >= hooks_.checkpoint_s)) {
        ASSAY_TRY(writer_.Checkpoint(state_));
        saved_s = Now_s();
      }
      if (stop) return Err("stopped");
      ASSAY_ASSIGN(const bool more, Step(planner));
      if (!more) return Finish(text);
    }
  }

 private:
  // Whether there was anything left to pack.
  Result<bool> Step(PackPlanner& planner) {
    std::vector<std::vector<PackPiece>> lists;
    for (std::int64_t i = 0; i < kListsForEach * pool_.threads(); ++i) {
      ASSAY_ASSIGN(auto list, planner.Next());
      if (list.empty()) break;
      lists.push_back(std::move(list));
    }
    std::vector<Result<PackedPieces>> made(lists.size());
    pool_.ParallelFor(static_cast<std::int64_t>(lists.size()), 1, [&](std::int64_t begin, std::int64_t end, int worker) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        made[at] = workers_[static_cast<std::size_t>(worker)].Run(lists[at]);
      }
    });
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!made[i]) return tl::unexpected(made[i].error());
      ASSAY_TRY(Add(*made[i]));
      for (const PackPiece& piece : lists[i]) state_.read_bytes += piece.end - piece.begin;
    }
    state_.place = planner.place();
    return !lists.empty();
  }

  Status Add(PackedPieces& made) {
    const std::uint64_t before = writer_.array_bytes() / 2;
    for (std::uint64_t& end : made.ends) end += before;
    ASSAY_TRY(writer_.Append({reinterpret_cast<const std::uint8_t*>(made.tokens.data()), 2 * made.tokens.size()}));
    ASSAY_TRY(writer_.AppendEnds(made.ends));
    state_.documents += static_cast<std::int64_t>(made.ends.size());
    state_.empty += made.empty;
    state_.largest = std::max<std::int64_t>(state_.largest, made.largest);
    return {};
  }

  Result<PackReport> Finish(bool text) {
    const auto tokens = static_cast<std::int64_t>(writer_.array_bytes() / 2);
    if (tokens == 0) return Err("{}: there is nothing to pack, no document has a character", inputs_.files.front().path);
    ASSAY_TRY(writer_.EndArray());
    PackedHeader header{.descriptor = TokensDescriptor{tokens},
                        .limit = state_.largest + 1,
                        .end_of_text = rule_.end_of_text ? std::int64_t{*rule_.end_of_text} : -1,
                        .documents = state_.documents,
                        .sections = {}};
    std::vector<PackWriter::Extra> extras;
    if (text || vocabulary_.tokenizer) {
      header.tokenizer = vocabulary_.tokenizer ? PackedTokenizer::kBytePairs : PackedTokenizer::kBytes;
      header.limit = std::max(SizeOf(vocabulary_), header.end_of_text + 1);
    }
    if (state_.largest >= header.limit) {
      return Err("--vocabulary: has {} tokens, and the largest of those to pack is {}", header.limit, state_.largest);
    }
    if (vocabulary_.tokenizer) {
      extras = {{"encoder.json", vocabulary_.encoder.bytes()}, {"vocab.bpe", vocabulary_.merges.bytes()}};
    }
    ASSAY_TRY(writer_.Finish(header, extras, state_));
    PackReport report = ReportOf(inputs_, state_, writer_.resumed());
    AddHeader(header, report);
    return report;
  }

  const PackInputs& inputs_;
  const Vocabulary& vocabulary_;
  PackRule rule_;
  PackWriter& writer_;
  ThreadPool& pool_;
  const PackHooks& hooks_;
  PackState state_;
  std::vector<PackWorker> workers_;
};

Status Copy(ByteSpan bytes, PackWriter& writer, const std::function<void(std::uint64_t)>& done) {
  for (ByteSpan rest = bytes; !rest.empty();) {
    const ByteSpan piece = rest.first(std::min<std::size_t>(rest.size(), kCopied));
    ASSAY_TRY(writer.Append(piece));
    rest = rest.subspan(piece.size());
    done(piece.size());
  }
  return writer.EndArray();
}

// Arrays are copied as they are trained on; a packer of arrays that was killed starts over.
Result<PackReport> PackArrays(const PackOptions& options, const PackInputs& inputs, PackWriter& writer,
                              const PackHooks& hooks) {
  Allowance everything;
  ASSAY_ASSIGN(const auto arrays,
               LabelledArrays::Open(options.inputs.front(), options.array_inputs, options.array_labels, everything));
  const std::uint64_t all = arrays->input_bytes().size() + arrays->label_bytes().size();
  std::uint64_t done = 0;
  const auto progress = [&](std::uint64_t bytes) {
    done += bytes;
    if (hooks.progress) hooks.progress(done, all);
  };
  progress(0);
  ASSAY_TRY(Copy(arrays->input_bytes(), writer, progress));
  ASSAY_TRY(Copy(arrays->label_bytes(), writer, progress));
  PackedHeader header{.descriptor = ArraysDescriptor{arrays->size(), arrays->dtype(), arrays->sample()},
                      .limit = std::int64_t{arrays->largest_label()} + 1,
                      .sections = {}};
  ASSAY_TRY(Check(header.descriptor));
  PackState state;
  ASSAY_TRY(writer.Finish(header, {}, state));
  PackReport report = ReportOf(inputs, state, {});
  AddHeader(header, report);
  return report;
}

Result<PackReport> MadeBefore(const std::string& file, const PackInputs& inputs, const PackState& state) {
  ASSAY_ASSIGN(const Bytes head, ReadFilePart(file, 0, kPackedHeaderBytes));
  ASSAY_ASSIGN(const FileFacts facts, FactsOf(file, true));
  ASSAY_ASSIGN(const PackedHeader header, DecodePackedHeader(head, facts.bytes, file));
  PackReport report = ReportOf(inputs, state, state);
  AddHeader(header, report);
  return report;
}

}  // namespace

Result<PackReport> Pack(const PackOptions& options, ThreadPool& pool, const PackHooks& hooks) {
  if (options.inputs.empty()) return Err("expected at least one file or folder to pack");
  if (options.kind == PackKind::kArrays && options.inputs.size() != 1) {
    return Err("expected one .npz or safetensors file or folder of .npy files to pack, got {}", options.inputs.size());
  }
  ASSAY_ASSIGN(const Vocabulary vocabulary, OpenVocabulary(options.vocabulary));
  ASSAY_ASSIGN(const auto end_of_text, EndOfText(options, vocabulary));
  ASSAY_ASSIGN(const PackInputs inputs,
               FindInputs(options.inputs, options.kind == PackKind::kTokens, PackWriter::FolderOf(options.out)));
  const Digest plan = PlanOf(options, inputs, vocabulary, end_of_text);
  ASSAY_ASSIGN(const auto finished, PackWriter::TakeUpFinished(options.out, plan));
  Result<PackReport> report;
  std::optional<PackWriter> writer;  // holds the lock to the end
  if (finished) {
    report = MadeBefore(options.out, inputs, *finished);
  } else {
    if (IsTaken(options.out)) return Err("{}: exists already and is not overwritten", options.out);
    ASSAY_ASSIGN(writer, PackWriter::Open(options.out, plan));
    report =
        options.kind == PackKind::kArrays
            ? PackArrays(options, inputs, *writer, hooks)
            : TokenPacker(options, inputs, vocabulary, end_of_text, *writer, pool, hooks).Run(options.kind == PackKind::kText);
  }
  // What could not be packed, and holds nothing to go on from, leaves nothing behind.
  if (report || !PackWriter::HasState(options.out)) {
    if (const Status removed = PackWriter::RemoveFolder(options.out); report && !removed)
      return tl::unexpected(removed.error());
  }
  return report;
}

}  // namespace assay
