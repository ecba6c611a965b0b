// The one encoding of evidence, and its reader, which applies every limit.
#include <algorithm>
#include <functional>

#include "assay/dispute/evidence.h"

namespace assay::dispute {
namespace {

constexpr std::string_view kTag = "assay/evidence/2";

enum class Kind : std::uint8_t { kTrial = 1, kUnprovenLog = 2, kTwoAnswers = 3, kTwoReceipts = 4, kSilence = 5, kDraw = 6 };

void WriteNumbers(const std::vector<std::uint32_t>& numbers, ByteWriter& out) {
  out.U32(static_cast<std::uint32_t>(numbers.size()));
  for (const std::uint32_t number : numbers) out.U32(number);
}

Result<std::vector<std::uint32_t>> ReadNumbers(ByteReader& in) {
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count > in.remaining() / 4) return Err("evidence: a list of {} numbers in {} bytes", count, in.remaining());
  std::vector<std::uint32_t> numbers(count);
  for (std::uint32_t& number : numbers) {
    ASSAY_ASSIGN(number, in.U32());
  }
  return numbers;
}

// Numbers of which none may stand twice: a repetition would make a judge do the same work again.
Result<std::vector<std::uint32_t>> ReadAscending(ByteReader& in, std::string_view what) {
  ASSAY_ASSIGN(std::vector<std::uint32_t> numbers, ReadNumbers(in));
  if (std::ranges::adjacent_find(numbers, std::greater_equal()) != numbers.end()) {
    return Err("evidence: {} of a trial are not ascending", what);
  }
  return numbers;
}

template <class T>
void WriteOptional(const std::optional<T>& value, ByteWriter& out) {
  out.U8(value ? 1 : 0);
  out.U64(value ? static_cast<std::uint64_t>(*value) : 0);
}

template <class T>
Status ReadOptional(ByteReader& in, std::optional<T>& value) {
  ASSAY_ASSIGN(const std::uint8_t there, in.U8());
  ASSAY_ASSIGN(const std::uint64_t number, in.U64());
  if (there == 1) value = static_cast<T>(number);
  return {};
}

// Where and of what; the words about it are the judge's own.
void WriteFinding(const Finding& finding, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>((finding.guilty[0] ? 1 : 0) | (finding.guilty[1] ? 2 : 0) | (finding.false_log[0] ? 4 : 0) |
                                   (finding.false_log[1] ? 8 : 0)));
  out.U8(static_cast<std::uint8_t>(finding.cause));
  WriteOptional(finding.step, out);
  WriteOptional(finding.node, out);
  WriteOptional(finding.index, out);
  WriteOptional(finding.leaf, out);
  WriteOptional(finding.element, out);
}

Result<Finding> ReadFinding(ByteReader& in) {
  Finding finding;
  ASSAY_ASSIGN(const std::uint8_t guilty, in.U8());
  finding.guilty[0] = (guilty & 1) != 0;
  finding.guilty[1] = (guilty & 2) != 0;
  finding.false_log[0] = (guilty & 4) != 0;
  finding.false_log[1] = (guilty & 8) != 0;
  ASSAY_ASSIGN(const std::uint8_t cause, in.U8());
  if (cause > static_cast<std::uint8_t>(Cause::kWeights)) return Err("evidence: no cause has the number {}", cause);
  finding.cause = static_cast<Cause>(cause);
  ASSAY_TRY(ReadOptional(in, finding.step));
  ASSAY_TRY(ReadOptional(in, finding.node));
  ASSAY_TRY(ReadOptional(in, finding.index));
  ASSAY_TRY(ReadOptional(in, finding.leaf));
  ASSAY_TRY(ReadOptional(in, finding.element));
  return finding;
}

void WriteQuestion(const Question& question, ByteWriter& out) { out.Blob(Encode(Digest{}, question)); }

Result<Question> ReadQuestion(ByteReader& in) {
  ASSAY_ASSIGN(const Bytes bytes, in.Blob());
  ASSAY_ASSIGN(AddressedQuestion addressed, DecodeQuestion(bytes));
  return std::move(addressed.question);
}

void WriteStatement(const Statement& statement, ByteWriter& out) {
  WriteQuestion(statement.question, out);
  out.Blob(statement.body);
  out.U32(static_cast<std::uint32_t>(statement.by.size()));
  for (const SignedBy& by : statement.by) {
    out.U32(by.provider);
    out.Raw(by.signature);
  }
}

Result<Statement> ReadStatement(ByteReader& in) {
  Statement statement;
  ASSAY_ASSIGN(statement.question, ReadQuestion(in));
  ASSAY_ASSIGN(statement.body, in.Blob());
  ASSAY_ASSIGN(const std::uint32_t signers, in.U32());
  for (std::uint32_t i = 0; i < signers; ++i) {
    SignedBy by;
    ASSAY_ASSIGN(by.provider, in.U32());
    ASSAY_ASSIGN(const ByteSpan signature, in.Raw(by.signature.size()));
    std::ranges::copy(signature, by.signature.begin());
    statement.by.push_back(by);
  }
  return statement;
}

struct ChargeWriter {
  ByteWriter& out;
  void Begin(Kind kind) { out.U8(static_cast<std::uint8_t>(kind)); }
  void operator()(const Trial& trial) {
    Begin(Kind::kTrial);
    for (const ProviderId claim : trial.claims) out.U32(claim);
    for (const auto& said : trial.said) WriteNumbers(said, out);
    WriteNumbers(trial.shared, out);
    WriteFinding(trial.finding, out);
    WriteNumbers(trial.convicted, out);
  }
  void operator()(const UnprovenLog& charge) {
    Begin(Kind::kUnprovenLog);
    out.U32(charge.provider);
    out.U32(charge.said);
  }
  void operator()(const TwoAnswers& charge) {
    Begin(Kind::kTwoAnswers);
    out.U32(charge.provider);
    out.U32(charge.first);
    out.U32(charge.second);
  }
  void operator()(const TwoReceipts& charge) {
    Begin(Kind::kTwoReceipts);
    out.U32(charge.first);
    out.U32(charge.second);
  }
  void operator()(const Silence& charge) {
    Begin(Kind::kSilence);
    out.U32(charge.provider);
    WriteQuestion(charge.question, out);
  }
  void operator()(const Draw& draw) {
    Begin(Kind::kDraw);
    for (const ProviderId claim : draw.claims) out.U32(claim);
    for (const auto& said : draw.said) WriteNumbers(said, out);
  }
};

Result<Trial> ReadTrial(ByteReader& in) {
  Trial trial;
  for (ProviderId& claim : trial.claims) {
    ASSAY_ASSIGN(claim, in.U32());
  }
  for (auto& said : trial.said) {
    ASSAY_ASSIGN(said, ReadNumbers(in));
  }
  ASSAY_ASSIGN(trial.shared, ReadAscending(in, "the shared statements"));
  ASSAY_ASSIGN(trial.finding, ReadFinding(in));
  ASSAY_ASSIGN(trial.convicted, ReadAscending(in, "those who fall"));
  return trial;
}

Status ReadThree(ByteReader& in, std::uint32_t& a, std::uint32_t& b, std::uint32_t* c = nullptr) {
  ASSAY_ASSIGN(a, in.U32());
  ASSAY_ASSIGN(b, in.U32());
  if (c == nullptr) return {};
  ASSAY_ASSIGN(*c, in.U32());
  return {};
}

Status ReadCharge(ByteReader& in, std::vector<Charge>& charges) {
  ASSAY_ASSIGN(const std::uint8_t kind, in.U8());
  switch (static_cast<Kind>(kind)) {
    case Kind::kTrial: {
      ASSAY_ASSIGN(Trial trial, ReadTrial(in));
      charges.emplace_back(std::in_place_type<Trial>, std::move(trial));
      return {};
    }
    case Kind::kUnprovenLog: {
      auto& charge = std::get<UnprovenLog>(charges.emplace_back(std::in_place_type<UnprovenLog>));
      return ReadThree(in, charge.provider, charge.said);
    }
    case Kind::kTwoAnswers: {
      auto& charge = std::get<TwoAnswers>(charges.emplace_back(std::in_place_type<TwoAnswers>));
      return ReadThree(in, charge.provider, charge.first, &charge.second);
    }
    case Kind::kTwoReceipts: {
      auto& charge = std::get<TwoReceipts>(charges.emplace_back(std::in_place_type<TwoReceipts>));
      return ReadThree(in, charge.first, charge.second);
    }
    case Kind::kSilence: {
      auto& charge = std::get<Silence>(charges.emplace_back(std::in_place_type<Silence>));
      ASSAY_ASSIGN(charge.provider, in.U32());
      ASSAY_ASSIGN(charge.question, ReadQuestion(in));
      return {};
    }
    case Kind::kDraw: {
      auto& draw = std::get<Draw>(charges.emplace_back(std::in_place_type<Draw>));
      ASSAY_TRY(ReadThree(in, draw.claims[0], draw.claims[1]));
      for (auto& said : draw.said) {
        ASSAY_ASSIGN(said, ReadNumbers(in));
      }
      return {};
    }
  }
  return Err("evidence: no kind of charge has the number {}", kind);
}

Status ReadParties(ByteReader& in, Evidence& evidence) {
  ASSAY_ASSIGN(const std::uint32_t parties, in.U32());
  if (parties > kMaxEvidenceProviders) return Err("evidence: {} parties, expected at most {}", parties, kMaxEvidenceProviders);
  for (std::uint32_t i = 0; i < parties; ++i) {
    Evidence::Party party;
    ASSAY_ASSIGN(party.receipt, in.String());
    ASSAY_ASSIGN(party.number, in.U32());
    if (i > 0 && party.number <= evidence.parties.back().number) return Err("evidence: the parties' numbers are not ascending");
    ASSAY_ASSIGN(const std::uint8_t unsigned_answers, in.U8());
    party.unsigned_answers = unsigned_answers != 0;
    evidence.parties.push_back(std::move(party));
  }
  return {};
}

Status ReadOthers(ByteReader& in, Evidence& evidence) {
  ASSAY_ASSIGN(const std::uint32_t others, in.U32());
  if (others > kMaxEvidenceProviders)
    return Err("evidence: {} other receipts, expected at most {}", others, kMaxEvidenceProviders);
  for (std::uint32_t i = 0; i < others; ++i) {
    ASSAY_ASSIGN(std::string other, in.String());
    if (i > 0 && !(HashBytes(AsBytes(evidence.others.back())).bytes < HashBytes(AsBytes(other)).bytes)) {
      return Err("evidence: other receipts are not in the order of their hashes");
    }
    evidence.others.push_back(std::move(other));
  }
  return {};
}

// Names of statements that are not there are the judge's to refuse.
Status CheckWeight(const Evidence& evidence, std::size_t most) {
  std::size_t weighed = 0;
  for (const Charge& charge : evidence.charges) {
    weighed += WeighedBytes(charge, evidence.statements);
    if (weighed > most) return Err("evidence: its charges rest on more than {} bytes", most);
  }
  return {};
}

}  // namespace

Bytes Encode(const Evidence& evidence) {
  ByteWriter out;
  out.String(kTag);
  out.Blob(evidence.job);
  out.Blob(evidence.program);
  out.Raw(evidence.referee);
  out.Raw(evidence.nonce.bytes);
  out.U8(evidence.pair ? 1 : 0);
  out.U32(static_cast<std::uint32_t>(evidence.parties.size()));
  for (const Evidence::Party& party : evidence.parties) {
    out.String(party.receipt);
    out.U32(party.number);
    out.U8(party.unsigned_answers ? 1 : 0);
  }
  out.U32(static_cast<std::uint32_t>(evidence.others.size()));
  for (const std::string& other : evidence.others) out.String(other);
  out.U32(static_cast<std::uint32_t>(evidence.statements.size()));
  for (const Statement& statement : evidence.statements) WriteStatement(statement, out);
  out.U32(static_cast<std::uint32_t>(evidence.charges.size()));
  for (const Charge& charge : evidence.charges) std::visit(ChargeWriter{out}, charge);
  return out.Take();
}

std::size_t EncodedBytes(const Statement& statement) {
  ByteWriter out;
  WriteStatement(statement, out);
  return out.bytes().size();
}

std::size_t EncodedBytes(const Charge& charge) {
  ByteWriter out;
  std::visit(ChargeWriter{out}, charge);
  return out.bytes().size();
}

std::vector<StatementId> StatementsOf(const Charge& charge) {
  std::vector<StatementId> named;
  const auto add = [&](const std::vector<StatementId>& list) { named.insert(named.end(), list.begin(), list.end()); };
  if (const auto* trial = std::get_if<Trial>(&charge)) {
    for (const auto* list : {&trial->said[0], &trial->said[1], &trial->shared}) add(*list);
  } else if (const auto* log = std::get_if<UnprovenLog>(&charge)) {
    named = {log->said};
  } else if (const auto* answers = std::get_if<TwoAnswers>(&charge)) {
    named = {answers->first, answers->second};
  } else if (const auto* draw = std::get_if<Draw>(&charge)) {
    for (const auto& said : draw->said) add(said);
  }
  return named;
}

std::size_t WeighedBytes(const Charge& charge, std::span<const Statement> statements) {
  const auto weigh = [&](std::span<const StatementId> named) {
    std::size_t weighed = 0;
    for (const StatementId id : named) {
      if (id < statements.size()) weighed += statements[id].body.size() + kStatementWeight;
    }
    return weighed;
  };
  const std::size_t once = weigh(StatementsOf(charge));
  const auto* trial = std::get_if<Trial>(&charge);
  if (trial == nullptr || trial->convicted.empty()) return once;
  // Neither factor reaches 2^32: statements and parties are bounded by the file's bytes.
  return once + weigh(trial->shared) * (trial->convicted.size() - 1);
}

Result<Evidence> DecodeEvidence(ByteSpan bytes, const EvidenceLimits& limits) {
  if (bytes.size() > limits.bytes) return Err("evidence: {} bytes, expected at most {}", bytes.size(), limits.bytes);
  ByteReader in(bytes, "evidence");
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("evidence: expected {}", kTag);
  Evidence evidence;
  ASSAY_ASSIGN(evidence.job, in.Blob());
  ASSAY_ASSIGN(evidence.program, in.Blob());
  ASSAY_ASSIGN(const ByteSpan referee, in.Raw(evidence.referee.size()));
  std::ranges::copy(referee, evidence.referee.begin());
  ASSAY_ASSIGN(const ByteSpan nonce, in.Raw(evidence.nonce.bytes.size()));
  std::ranges::copy(nonce, evidence.nonce.bytes.begin());
  ASSAY_ASSIGN(const std::uint8_t pair, in.U8());
  evidence.pair = pair != 0;
  ASSAY_TRY(ReadParties(in, evidence));
  ASSAY_TRY(ReadOthers(in, evidence));
  if (evidence.pair && evidence.parties.size() + evidence.others.size() > 2) {
    return Err("evidence: a comparison is of two runs, here are {}", evidence.parties.size() + evidence.others.size());
  }
  ASSAY_ASSIGN(const std::uint32_t statements, in.U32());
  for (std::uint32_t i = 0; i < statements; ++i) {
    ASSAY_ASSIGN(Statement statement, ReadStatement(in));
    evidence.statements.push_back(std::move(statement));
  }
  ASSAY_ASSIGN(const std::uint32_t charges, in.U32());
  // Each convicts somebody who was not convicted before.
  if (charges > 2 * evidence.parties.size())
    return Err("evidence: {} charges against {} parties", charges, evidence.parties.size());
  for (std::uint32_t i = 0; i < charges; ++i) ASSAY_TRY(ReadCharge(in, evidence.charges));
  ASSAY_TRY(in.End());
  ASSAY_TRY(CheckWeight(evidence, limits.weighed));
  if (!std::ranges::equal(Encode(evidence), bytes)) return Err("evidence: not in its one encoding");
  return evidence;
}

}  // namespace assay::dispute
