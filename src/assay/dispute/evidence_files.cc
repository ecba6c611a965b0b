#include "assay/dispute/evidence_files.h"

#include <algorithm>
#include <map>

namespace assay::dispute {
namespace {

template <class F>
void ForEachStatement(Charge& charge, const F& visit) {
  if (auto* trial = std::get_if<Trial>(&charge)) {
    for (auto* list : {&trial->said[0], &trial->said[1], &trial->shared}) std::ranges::for_each(*list, visit);
  } else if (auto* log = std::get_if<UnprovenLog>(&charge)) {
    visit(log->said);
  } else if (auto* answers = std::get_if<TwoAnswers>(&charge)) {
    visit(answers->first);
    visit(answers->second);
  } else if (auto* draw = std::get_if<Draw>(&charge)) {
    for (auto& said : draw->said) std::ranges::for_each(said, visit);
  }
}

// The evidence without what was said and what follows from it.
Evidence WithoutCharges(const Evidence& evidence) {
  return {.job = evidence.job,
          .program = evidence.program,
          .referee = evidence.referee,
          .nonce = evidence.nonce,
          .pair = evidence.pair,
          .parties = evidence.parties,
          .others = evidence.others};
}

// One file, as it is filled.
class File {
 public:
  File(const Evidence& whole, Evidence empty, std::size_t empty_bytes)
      : whole_(whole), made_(std::move(empty)), bytes_(empty_bytes) {}

  bool IsEmpty() const { return made_.charges.empty(); }
  bool Holds(const Charge& charge, const EvidenceLimits& limits) const {
    std::size_t bytes = bytes_ + EncodedBytes(charge);
    const std::size_t weighed = weighed_ + WeighedBytes(charge, whole_.statements);
    std::vector<StatementId> named = StatementsOf(charge);
    std::ranges::sort(named);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    for (const StatementId id : named) {
      if (!places_.contains(id)) bytes += EncodedBytes(whole_.statements[id]);
    }
    return bytes <= limits.bytes && weighed <= limits.weighed;
  }
  void Add(Charge charge) {
    weighed_ += WeighedBytes(charge, whole_.statements);
    ForEachStatement(charge, [&](StatementId& id) {
      const auto [place, fresh] = places_.emplace(id, static_cast<StatementId>(made_.statements.size()));
      if (fresh) {
        made_.statements.push_back(whole_.statements[id]);
        bytes_ += EncodedBytes(whole_.statements[id]);
      }
      id = place->second;
    });
    if (auto* trial = std::get_if<Trial>(&charge)) std::ranges::sort(trial->shared);
    bytes_ += EncodedBytes(charge);
    made_.charges.push_back(std::move(charge));
  }
  Evidence Take() { return std::move(made_); }

 private:
  const Evidence& whole_;
  Evidence made_;
  std::map<StatementId, StatementId> places_;  // in this file, of the statements of the whole
  std::size_t bytes_;
  std::size_t weighed_ = 0;
};

// A trial that brings down very many weighs more than a file may, and is held once for each half of them.
std::vector<Charge> Pieces(const Charge& charge, const Evidence& evidence, std::size_t most) {
  const auto* trial = std::get_if<Trial>(&charge);
  if (trial == nullptr || trial->convicted.size() < 2 || WeighedBytes(charge, evidence.statements) <= most) return {charge};
  const auto middle = trial->convicted.begin() + static_cast<std::ptrdiff_t>(trial->convicted.size() / 2);
  Trial first = *trial, second = *trial;
  first.convicted.assign(trial->convicted.begin(), middle);
  second.convicted.assign(middle, trial->convicted.end());
  std::vector<Charge> pieces = Pieces(first, evidence, most);
  std::ranges::move(Pieces(second, evidence, most), std::back_inserter(pieces));
  return pieces;
}

}  // namespace

EvidenceFiles InFiles(const Evidence& evidence, const EvidenceLimits& limits) {
  EvidenceFiles made;
  const Evidence empty = WithoutCharges(evidence);
  const std::size_t empty_bytes = Encode(empty).size();
  if (empty_bytes > limits.bytes) {
    for (std::size_t i = 0; i < evidence.charges.size(); ++i) made.left_out.push_back(i);
    return made;
  }
  std::vector<File> files(1, File(evidence, empty, empty_bytes));
  bool is_whole = true;  // in one file, as it is
  for (std::size_t i = 0; i < evidence.charges.size(); ++i) {
    const std::vector<Charge> pieces = Pieces(evidence.charges[i], evidence, limits.weighed);
    is_whole = is_whole && pieces.size() == 1;
    for (const Charge& charge : pieces) {
      if (!files.back().Holds(charge, limits) && !files.back().IsEmpty()) files.emplace_back(evidence, empty, empty_bytes);
      if (files.back().Holds(charge, limits)) {
        files.back().Add(charge);
      } else if (made.left_out.empty() || made.left_out.back() != i) {
        made.left_out.push_back(i);
      }
    }
  }
  if (files.size() > 1 && files.back().IsEmpty()) files.pop_back();
  if (is_whole && files.size() == 1 && made.left_out.empty()) {
    made.files.push_back(evidence);
  } else {
    for (File& file : files) made.files.push_back(file.Take());
  }
  return made;
}

void LeaveOut(const EvidenceFiles& files, Judgement& judgement) {
  judgement.convicts = false;
  for (Judgement::Party& party : judgement.parties) {
    const bool is_left_out = party.charge && std::ranges::binary_search(files.left_out, *party.charge);
    if (is_left_out && IsGuilty(party.standing)) {
      party.proven = false;
      party.by += ", says the referee: what shows it does not fit into a file of evidence";
    }
    judgement.convicts = judgement.convicts || (IsGuilty(party.standing) && party.proven);
  }
}

}  // namespace assay::dispute
