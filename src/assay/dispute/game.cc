#include "assay/dispute/game.h"

#include <algorithm>

namespace assay::dispute {
namespace {

enum class Kind : std::uint8_t { kStarted = 1, kAnswered = 2, kTick = 3, kUnreachable = 4, kResumed = 5 };

struct Writer {
  ByteWriter& out;
  void Begin(Kind kind) { out.U8(static_cast<std::uint8_t>(kind)); }
  void operator()(const Started& e) {
    Begin(Kind::kStarted);
    out.I64(e.now_ms);
  }
  void operator()(const Answered& e) {
    Begin(Kind::kAnswered);
    out.U32(e.provider);
    out.Raw(e.question.bytes);
    out.Blob(e.answer);
    out.I64(e.now_ms);
  }
  void operator()(const Tick& e) {
    Begin(Kind::kTick);
    out.I64(e.now_ms);
  }
  void operator()(const Unreachable& e) {
    Begin(Kind::kUnreachable);
    out.U32(e.provider);
    out.I64(e.now_ms);
    out.U8(static_cast<std::uint8_t>(e.hope));
  }
  void operator()(const Resumed& e) {
    Begin(Kind::kResumed);
    out.I64(e.now_ms);
  }
};

template <class E>
Result<Event> ReadTime(ByteReader& in) {
  E event;
  ASSAY_ASSIGN(event.now_ms, in.I64());
  return event;
}

Result<Event> ReadAnswered(ByteReader& in) {
  Answered event;
  ASSAY_ASSIGN(event.provider, in.U32());
  ASSAY_ASSIGN(const ByteSpan question, in.Raw(event.question.bytes.size()));
  std::copy(question.begin(), question.end(), event.question.bytes.begin());
  ASSAY_ASSIGN(event.answer, in.Blob());
  ASSAY_ASSIGN(event.now_ms, in.I64());
  return event;
}

Result<Event> ReadUnreachable(ByteReader& in) {
  Unreachable event;
  ASSAY_ASSIGN(event.provider, in.U32());
  ASSAY_ASSIGN(event.now_ms, in.I64());
  ASSAY_ASSIGN(const std::uint8_t hope, in.U8());
  if (hope > static_cast<std::uint8_t>(Hope::kUnable)) return Err("event: expected 0 to 3 for what is hoped, got {}", hope);
  event.hope = static_cast<Hope>(hope);
  return event;
}

Result<Event> ReadEvent(ByteReader& in) {
  ASSAY_ASSIGN(const std::uint8_t kind, in.U8());
  switch (static_cast<Kind>(kind)) {
    case Kind::kStarted: return ReadTime<Started>(in);
    case Kind::kAnswered: return ReadAnswered(in);
    case Kind::kTick: return ReadTime<Tick>(in);
    case Kind::kUnreachable: return ReadUnreachable(in);
    case Kind::kResumed: return ReadTime<Resumed>(in);
  }
  return Err("event: no kind of event has the number {}", kind);
}

std::optional<Rerun> RerunOfTree(const TreeName& tree) {
  switch (tree.kind) {
    case TreeKind::kStates:
    case TreeKind::kTrace:
    case TreeKind::kState: return Rerun{tree.kind, tree.at, 0};
    case TreeKind::kStateTensor: return Rerun{TreeKind::kState, tree.at, 0};
    case TreeKind::kInput:
    case TreeKind::kOutput: return Rerun{TreeKind::kOutput, tree.at, tree.node};
    case TreeKind::kLog:
    case TreeKind::kBatches:
    case TreeKind::kRoundings:
    case TreeKind::kRoundingLog:
    case TreeKind::kWeights:
    case TreeKind::kBatch:
    case TreeKind::kBatchField: return std::nullopt;
  }
  return std::nullopt;
}

struct RerunReader {
  std::optional<Rerun> operator()(const SamplesQuestion&) { return std::nullopt; }
  std::optional<Rerun> operator()(const PartsQuestion& q) { return Rerun{TreeKind::kOutput, q.step, q.node}; }
  std::optional<Rerun> operator()(const auto& q) { return RerunOfTree(q.tree); }
};

}  // namespace

Bytes Encode(const Event& event) {
  ByteWriter out;
  std::visit(Writer{out}, event);
  return out.Take();
}

Result<Event> DecodeEvent(ByteSpan bytes) {
  ByteReader in(bytes, "event");
  ASSAY_ASSIGN(Event event, ReadEvent(in));
  ASSAY_TRY(in.End());
  return event;
}

std::optional<Rerun> RerunOf(const Question& question) { return std::visit(RerunReader{}, question); }

}  // namespace assay::dispute
