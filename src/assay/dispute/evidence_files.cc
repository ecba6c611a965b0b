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
    std::size_t bytes = bytes_ + EncodedBytes(charge), weighed = weighed_;
    std::vector<StatementId> named = StatementsOf(charge);
    for (const StatementId id : named) weighed += WeighedBytes(whole_.statements[id]);
    std::ranges::sort(named);
    named.erase(std::unique(named.begin(), named.end()), named.end());
    for (const StatementId id : named) {
      if (!places_.contains(id)) bytes += EncodedBytes(whole_.statements[id]);
    }
    return bytes <= limits.bytes && weighed <= limits.weighed;
  }
  void Add(Charge charge) {
    ForEachStatement(charge, [&](StatementId& id) {
      weighed_ += WeighedBytes(whole_.statements[id]);
      const auto [place, fresh] = places_.emplace(id, static_cast<StatementId>(made_.statements.size()));
      if (fresh) {
        made_.statements.push_back(whole_.statements[id]);
        bytes_ += EncodedBytes(whole_.statements[id]);
      }
      id = place->second;
    });
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
  for (std::size_t i = 0; i < evidence.charges.size(); ++i) {
    const Charge& charge = evidence.charges[i];
    if (!files.back().Holds(charge, limits) && !files.back().IsEmpty()) files.emplace_back(evidence, empty, empty_bytes);
    if (files.back().Holds(charge, limits)) {
      files.back().Add(charge);
    } else {
      made.left_out.push_back(i);
    }
  }
  if (files.size() > 1 && files.back().IsEmpty()) files.pop_back();
  if (files.size() == 1 && made.left_out.empty()) {
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
