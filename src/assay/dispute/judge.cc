// Going through evidence again.
#include <algorithm>
#include <array>
#include <map>

#include "assay/dispute/evidence.h"

namespace assay::dispute {
namespace {

bool TakesPart(Standing standing) { return standing != Standing::kRefused && standing != Standing::kRepeated; }
bool IsNamedGuilty(Standing standing) { return standing != Standing::kStanding && standing != Standing::kRepeated; }

bool IsAboutLog(const Question& question) {
  const auto* leaves = std::get_if<LeavesQuestion>(&question);
  const auto* expand = std::get_if<ExpandQuestion>(&question);
  return (leaves != nullptr && leaves->tree.kind == TreeKind::kLog) ||
         (expand != nullptr && expand->tree.kind == TreeKind::kLog);
}

bool SameWhere(const Finding& a, const Finding& b) {
  return a.guilty[0] == b.guilty[0] && a.guilty[1] == b.guilty[1] && a.cause == b.cause && a.step == b.step &&
         a.node == b.node && a.index == b.index && a.leaf == b.leaf && a.element == b.element;
}

class Judging {
 public:
  Judging(const Law& law, std::span<const Claim> claims, const Evidence& evidence)
      : law_(law), claims_(claims), evidence_(evidence) {}

  Result<Judgement> Run() {
    ASSAY_TRY(CheckParties());
    ASSAY_TRY(CheckStatements());
    for (std::size_t i = 0; i < evidence_.charges.size(); ++i) {
      charge_ = i;
      ASSAY_TRY(std::visit([&](const auto& charge) { return Weigh(charge); }, evidence_.charges[i]));
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) return Err("evidence: nothing rests on statement {}", i);
    }
    return Conclude();
  }

 private:
  Status CheckParties();
  Status CheckStatements();
  Status Weigh(const Trial& trial);
  Status Weigh(const UnprovenLog& charge);
  Status Weigh(const TwoAnswers& charge);
  Status Weigh(const TwoReceipts& charge);
  Status Weigh(const Silence& charge);
  Result<Judgement> Conclude();

  Result<const Statement*> Use(StatementId id) {
    if (id >= evidence_.statements.size()) return Err("evidence: charge {} rests on statement {}, there is none", charge_, id);
    used_[id] = true;
    return &evidence_.statements[id];
  }
  Status CheckTakesPart(ProviderId id) const {
    if (id >= evidence_.parties.size() || !TakesPart(evidence_.parties[id].standing)) {
      return Err("evidence: charge {} is about party {}, who takes no part", charge_, id);
    }
    return {};
  }
  static bool Signed(const Statement& statement, ProviderId id) {
    return std::ranges::binary_search(statement.by, id, {}, &SignedBy::provider);
  }
  void Prove(ProviderId id, Standing standing, std::string by) { proven_.try_emplace({id, standing}, std::move(by), charge_); }

  struct Side {
    std::vector<const Statement*> said;
    Testimony all, self_proving;
  };
  Result<Side> Collect(const std::vector<StatementId>& said);
  bool Stands(const Trial& trial, std::size_t s, const Side& side, ProviderId id, const Finding& finding,
              std::optional<std::int64_t> entry);
  bool Shares(const Trial& trial, ProviderId id, ProviderId with, std::int64_t entry);

  const Law& law_;
  std::span<const Claim> claims_;
  const Evidence& evidence_;
  Digest dispute_{};
  std::size_t charge_ = 0;
  std::vector<bool> used_;
  std::vector<Finding> findings_;
  std::map<std::pair<ProviderId, Standing>, std::pair<std::string, std::size_t>> proven_;  // how, and by which charge
};

// Everybody is who the evidence says, and took part or not for the reasons it says.
Status Judging::CheckParties() {
  std::vector<Claim> taking_part;
  std::map<std::array<std::uint8_t, 32>, std::vector<std::size_t>> keys;  // who takes part under it
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const Standing standing = evidence_.parties[i].standing;
    const Status good = law_.check(claims_[i]);
    if (good.has_value() == (standing == Standing::kRefused)) {
      return Err("evidence: party {} is named {}, but its claim is {}", i, ToString(standing),
                 good ? "one about this job" : good.error().message);
    }
    if (standing == Standing::kRefused) continue;
    bool repeats = false;
    for (std::size_t j = 0; j < i; ++j) {
      if (!TakesPart(evidence_.parties[j].standing) || claims_[j].signer.point() != claims_[i].signer.point()) continue;
      repeats = repeats || claims_[j].receipt == claims_[i].receipt;
      if (TakesPart(standing) && (repeats || law_.one_claim_per_key) &&
          (repeats || standing != Standing::kEquivocated || evidence_.parties[j].standing != Standing::kEquivocated)) {
        return Err("evidence: parties {} and {} take part under one key", j, i);
      }
    }
    if (standing == Standing::kRepeated && !repeats) return Err("evidence: party {} repeats nobody's receipt", i);
    if (standing != Standing::kRepeated) taking_part.push_back(claims_[i]);
  }
  dispute_ = law_.dispute(taking_part);
  return {};
}

Status Judging::CheckStatements() {
  used_.assign(evidence_.statements.size(), false);
  for (std::size_t i = 0; i < evidence_.statements.size(); ++i) {
    const Statement& statement = evidence_.statements[i];
    if (statement.by.empty()) return Err("evidence: nobody signed statement {}", i);
    const Bytes question = Encode(dispute_, statement.question);
    Answer answer{.refused = statement.refused, .body = statement.body};
    for (std::size_t k = 0; k < statement.by.size(); ++k) {
      const ProviderId id = statement.by[k].provider;
      if (k > 0 && id <= statement.by[k - 1].provider) return Err("evidence: the signers of statement {} are not ascending", i);
      if (id >= claims_.size() || !TakesPart(evidence_.parties[id].standing)) {
        return Err("evidence: statement {} is of party {}, who takes no part", i, id);
      }
      answer.signature = statement.by[k].signature;
      const bool good = evidence_.parties[id].unsigned_answers ? answer.signature == Signature{}
                                                               : law_.is_signed(answer, question, claims_[id].signer);
      if (!good) {
        return Err("evidence: statement {} (about {}) is not signed by party {}", i, Describe(statement.question), id);
      }
    }
  }
  return {};
}

Result<Judging::Side> Judging::Collect(const std::vector<StatementId>& said) {
  Side side;
  for (const StatementId id : said) {
    ASSAY_ASSIGN(const Statement* statement, Use(id));
    if (side.all.Find(statement->question) != nullptr) {
      return Err("evidence: charge {} has two answers about {}", charge_, Describe(statement->question));
    }
    side.said.push_back(statement);
    side.all.Add(statement->question, {statement->refused, statement->body});
    if (ProvesItself(statement->question)) side.self_proving.Add(statement->question, {statement->refused, statement->body});
  }
  return side;
}

Status Judging::Weigh(const Trial& trial) {
  std::vector<Side> sides;
  for (std::size_t s = 0; s < 2; ++s) {
    ASSAY_TRY(CheckTakesPart(trial.claims[s]));
    ASSAY_ASSIGN(Side side, Collect(trial.said[s]));
    sides.push_back(std::move(side));
  }
  for (const StatementId id : trial.shared) {
    ASSAY_ASSIGN(const Statement* statement, Use(id));
    static_cast<void>(statement);
  }
  const Claim &a = claims_[trial.claims[0]], &b = claims_[trial.claims[1]];
  const Outcome outcome = law_.examine(a, b, sides[0].all, sides[1].all);
  const auto* finding = std::get_if<Finding>(&outcome.next);
  if (finding == nullptr) return Err("evidence: what is said in charge {} decides nothing", charge_);
  if (!SameWhere(*finding, trial.finding)) {
    return Err("evidence: charge {} names another finding than the one that follows: {}", charge_, finding->reason);
  }
  // The interval that the parties came to, if they did: the first question inside it.
  std::optional<std::int64_t> entry;
  const Outcome before = law_.examine(a, b, sides[0].self_proving, sides[1].self_proving);
  if (const auto* asks = std::get_if<std::vector<Ask>>(&before.next)) {
    for (const Ask& ask : *asks) {
      if (!ProvesItself(ask.question) && !entry) entry = law_.entry(ask.question);
    }
  }
  for (const ProviderId id : trial.convicted) {
    ASSAY_TRY(CheckTakesPart(id));
    for (std::size_t s = 0; s < 2; ++s) {
      if (!finding->guilty[s] || !Stands(trial, s, sides[s], id, *finding, entry)) continue;
      Prove(id, Standing::kConvicted, finding->reason);
    }
  }
  findings_.push_back(*finding);
  return {};
}

// Whether a provider stands by everything that was held against its side.
bool Judging::Stands(const Trial& trial, std::size_t s, const Side& side, ProviderId id, const Finding& finding,
                     std::optional<std::int64_t> entry) {
  for (const Statement* statement : side.said) {
    const bool unproven = finding.unproven && statement->question == *finding.unproven;
    if ((unproven || !ProvesItself(statement->question)) && !Signed(*statement, id)) return false;
  }
  if (law_.group(claims_[id]) == law_.group(claims_[trial.claims[s]])) return true;
  const bool of_the_log = finding.cause == Cause::kReceipt || finding.cause == Cause::kEntry ||
                          finding.cause == Cause::kStart || (finding.unproven && IsAboutLog(*finding.unproven));
  return !of_the_log && entry && Shares(trial, id, trial.claims[s], *entry);
}

// Whether the logs of both have been shown to be the same at this entry and the one before.
bool Judging::Shares(const Trial& trial, ProviderId id, ProviderId with, std::int64_t entry) {
  if (entry < 1) return false;
  const auto at = static_cast<std::uint64_t>(entry);
  const LeavesQuestion wanted{{.kind = TreeKind::kLog}, {{at - 1, at + 1}}};
  const auto leaves = [&](ProviderId of) -> std::optional<std::vector<Bytes>> {
    for (const StatementId said : trial.shared) {
      const Statement& statement = evidence_.statements[said];
      if (statement.refused || statement.question != Question(wanted)) continue;
      if (const auto opened = law_.open_log(claims_[of], wanted, statement.body)) return *opened;
    }
    return std::nullopt;
  };
  const auto first = leaves(id), second = leaves(with);
  return first && second && *first == *second;
}

Status Judging::Weigh(const UnprovenLog& charge) {
  ASSAY_TRY(CheckTakesPart(charge.provider));
  ASSAY_ASSIGN(const Statement* statement, Use(charge.said));
  const auto* question = std::get_if<LeavesQuestion>(&statement->question);
  const Claim& claim = claims_[charge.provider];
  if (question == nullptr || question->tree != TreeName{.kind = TreeKind::kLog} ||
      question->spans.back().end > claim.receipt.log.size) {
    return Err("evidence: charge {} is not about entries of a log", charge_);
  }
  if (!Signed(*statement, charge.provider)) return {};
  if (statement->refused) {
    Prove(charge.provider, Standing::kConvicted, "refused to show its own log");
  } else if (const auto opened = law_.open_log(claim, *question, statement->body); !opened) {
    Prove(charge.provider, Standing::kConvicted, fmt::format("did not prove its own log: {}", opened.error().message));
  }
  return {};
}

Status Judging::Weigh(const TwoAnswers& charge) {
  ASSAY_TRY(CheckTakesPart(charge.provider));
  ASSAY_ASSIGN(const Statement* first, Use(charge.first));
  ASSAY_ASSIGN(const Statement* second, Use(charge.second));
  if (first->question != second->question) return Err("evidence: charge {} has answers to two questions", charge_);
  const bool differ = first->refused != second->refused || first->body != second->body;
  if (differ && Signed(*first, charge.provider) && Signed(*second, charge.provider)) {
    Prove(charge.provider, Standing::kEquivocated, fmt::format("two answers about {}", Describe(first->question)));
  }
  return {};
}

Status Judging::Weigh(const TwoReceipts& charge) {
  for (const ProviderId id : {charge.first, charge.second}) ASSAY_TRY(CheckTakesPart(id));
  const Claim &first = claims_[charge.first], &second = claims_[charge.second];
  if (law_.one_claim_per_key && first.signer.point() == second.signer.point() && first.receipt != second.receipt) {
    for (const ProviderId id : {charge.first, charge.second}) {
      Prove(id, Standing::kEquivocated, "two receipts of one key for one job");
    }
  }
  return {};
}

Status Judging::Weigh(const Silence& charge) { return CheckTakesPart(charge.provider); }

Result<Judgement> Judging::Conclude() {
  Judgement judgement{.findings = std::move(findings_)};
  std::vector<Standing> standings;
  bool guilty = false, all = true;
  for (ProviderId id = 0; id < evidence_.parties.size(); ++id) {
    const Standing standing = evidence_.parties[id].standing;
    standings.push_back(standing);
    Judgement::Party party{.standing = standing};
    for (const Standing as : {Standing::kConvicted, Standing::kEquivocated}) {
      const auto found = proven_.find({id, as});
      if (found == proven_.end()) continue;
      if (as != standing) {
        return Err("evidence: party {} is named {}, but charge {} has it {}", id, ToString(standing), found->second.second,
                   ToString(as));
      }
      party.by = found->second.first;
      party.charge = found->second.second;
    }
    if (standing == Standing::kRefused) {
      party.by = law_.check(claims_[id]).error().message;
    } else if (standing == Standing::kSilent) {
      party.proven = false;
      party.by = "did not answer in time, says the referee";
    } else if (party.charge && evidence_.parties[id].unsigned_answers &&
               !std::holds_alternative<TwoReceipts>(evidence_.charges[*party.charge])) {
      party.proven = false;
      party.by += ", says the referee: the answers are not signed";
    } else if (IsNamedGuilty(standing) && !party.charge) {
      party.proven = false;
      party.by = "nothing in the evidence convicts it";
    }
    guilty = guilty || IsNamedGuilty(standing);
    all = all && party.proven;
    judgement.parties.push_back(std::move(party));
  }
  judgement.verdict = VerdictOf(standings, evidence_.pair);
  judgement.convicts = guilty && all;
  return judgement;
}

}  // namespace

Result<Judgement> JudgeBy(const Law& law, std::span<const Claim> claims, const Evidence& evidence) {
  if (claims.size() != evidence.parties.size())
    return Err("evidence: {} parties and {} claims", evidence.parties.size(), claims.size());
  return Judging(law, claims, evidence).Run();
}

Result<Judgement> Judge(const Evidence& evidence) {
  ASSAY_ASSIGN(Terms terms, Terms::Make(evidence.job, evidence.program));
  const auto law = LawOf(std::make_shared<const Terms>(std::move(terms)), evidence.nonce, LawOptions{.pair = evidence.pair});
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < evidence.parties.size(); ++i) {
    ASSAY_ASSIGN(Claim claim, OpenClaim(evidence.parties[i].receipt, fmt::format("evidence: receipt {}", i)));
    claims.push_back(std::move(claim));
  }
  return JudgeBy(*law, claims, evidence);
}

}  // namespace assay::dispute
