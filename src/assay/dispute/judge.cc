// Going through evidence again.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "assay/dispute/evidence.h"
#include "assay/dispute/scope.h"

namespace assay::dispute {
namespace {

bool SameWhere(const Finding& a, const Finding& b) {
  return std::ranges::equal(a.guilty, b.guilty) && std::ranges::equal(a.false_log, b.false_log) && a.cause == b.cause &&
         a.step == b.step && a.node == b.node && a.index == b.index && a.leaf == b.leaf && a.element == b.element;
}

class Judging {
 public:
  Judging(const Law& law, std::span<const Claim> claims, std::span<const Claim> others, const Evidence& evidence)
      : law_(law), claims_(claims), others_(others), evidence_(evidence) {}

  Result<Judgement> Run() {
    ASSAY_TRY(CheckUse());
    ASSAY_TRY(CheckParties());
    ASSAY_TRY(CheckStatements());
    for (std::size_t i = 0; i < evidence_.charges.size(); ++i) {
      charge_ = i;
      fresh_ = false;
      ASSAY_TRY(std::visit([&](const auto& charge) { return Weigh(charge); }, evidence_.charges[i]));
      if (!fresh_) return Err("evidence: charge {} is against nobody who has not fallen before", i);
    }
    Conclude();
    return std::move(judgement_);
  }

 private:
  Status CheckUse() const;
  Status CheckParties();
  Status CheckStatements();
  Status Weigh(const Trial& trial);
  Status Weigh(const UnprovenLog& charge);
  Status Weigh(const TwoAnswers& charge);
  Status Weigh(const TwoReceipts& charge);
  Status Weigh(const Silence& charge);
  Status Weigh(const Draw& draw);
  void Conclude();

  Result<const Statement*> Use(StatementId id) {
    if (id >= evidence_.statements.size()) return Err("evidence: charge {} rests on statement {}, there is none", charge_, id);
    return &evidence_.statements[id];
  }
  Status CheckNamed(ProviderId id) const {
    if (id < claims_.size()) return {};
    return Err("evidence: charge {} is about party {}, there is none", charge_, id);
  }
  Status Unfounded(ProviderId id) const {
    return Err("evidence: charge {} does not convict party {}, whom it names", charge_, id);
  }
  static bool Signed(const Statement& statement, ProviderId id) {
    return std::ranges::binary_search(statement.by, id, {}, &SignedBy::provider);
  }
  // Everybody falls once: by the first charge that it is shown to have fallen by.
  void Fell(ProviderId id, Standing standing, bool proven, std::string by) {
    Judgement::Party& party = judgement_.parties[id];
    if (party.standing != Standing::kStanding || party.charge) return;
    fresh_ = true;
    party.standing = standing;
    party.proven = proven;
    party.by = std::move(by);
    party.charge = charge_;
  }
  // By what it said: worth something to others only where that is signed, and the signature tells of which party.
  void FellBySaying(ProviderId id, Standing standing, std::string by) {
    const bool counts = !evidence_.parties[id].unsigned_answers && !one_signer_;
    if (!counts) by += ", says the referee: the answers are not signed";
    Fell(id, standing, counts, std::move(by));
  }

  struct Side {
    std::vector<const Statement*> said;
    Testimony all, self_proving;
  };
  Result<Side> Collect(const std::vector<StatementId>& said);
  bool Stands(const Trial& trial, std::size_t s, const Side& side, ProviderId id, const Finding& finding,
              std::optional<std::int64_t> entry);
  bool Shares(const Trial& trial, ProviderId id, ProviderId with, std::int64_t entry);
  const std::optional<std::vector<Bytes>>& SharedEntries(const Trial& trial, ProviderId of, std::int64_t entry);
  bool GroupStands(ProviderId id) const;

  const Law& law_;
  std::span<const Claim> claims_, others_;
  const Evidence& evidence_;
  Digest dispute_{};
  std::size_t charge_ = 0;
  bool fresh_ = false;                                                  // the charge brought somebody down
  std::map<Digest, std::optional<std::vector<Bytes>>> shared_entries_;  // of the trial being weighed, by whose group
  std::set<std::pair<KeyPoint, Digest>> own_work_;  // the claims of which some receipt does not say that it follows somebody
  bool one_signer_ = false;  // of both runs of a comparison: its answers do not tell which of them they are about
  Judgement judgement_;
};

// A charge rests on every statement. Asked before any signature is looked at, which costs more.
Status Judging::CheckUse() const {
  std::vector<bool> used(evidence_.statements.size(), false);
  for (const Charge& charge : evidence_.charges) {
    for (const StatementId id : StatementsOf(charge)) {
      if (id < used.size()) used[id] = true;
    }
  }
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) return Err("evidence: nothing rests on statement {}", unused - used.begin());
  return {};
}

// Everybody has a claim about this job, and nobody has it twice.
Status Judging::CheckParties() {
  std::set<std::pair<KeyPoint, Digest>> seen;
  std::map<KeyPoint, std::size_t> keys;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (const Status good = law_.check(claims_[i]); !good) {
      return Err("evidence: the claim of party {} is not one about this job: {}", i, good.error().message);
    }
    if (!seen.emplace(claims_[i].signer.point(), law_.group(claims_[i])).second) {
      return Err("evidence: party {} claims the same as another under the same key", i);
    }
    const auto [before, fresh] = keys.emplace(claims_[i].signer.point(), i);
    one_signer_ = one_signer_ || (!fresh && evidence_.pair);
    if (!fresh && law_.one_claim_per_key && !law_.contradict(claims_[before->second], claims_[i])) {
      return Err("evidence: parties {} and {} have one key and do not contradict each other", before->second, i);
    }
    judgement_.parties.push_back({.signer = claims_[i].signer, .number = evidence_.parties[i].number});
  }
  const auto note = [&](const Claim& claim) {
    if (!claim.receipt.follows) own_work_.emplace(claim.signer.point(), law_.group(claim));
  };
  std::vector<Digest> receipts;
  for (const Claim& claim : claims_) {
    note(claim);
    receipts.push_back(claim.receipt_hash);
  }
  for (const Claim& other : others_) {
    if (const Status good = law_.check(other); !good || !seen.contains({other.signer.point(), law_.group(other)})) {
      return Err("evidence: a receipt beside those of the parties is none in which one of them claims the same");
    }
    note(other);
    receipts.push_back(other.receipt_hash);
  }
  dispute_ = law_.dispute(std::move(receipts));
  return {};
}

Status Judging::CheckStatements() {
  for (std::size_t i = 0; i < evidence_.statements.size(); ++i) {
    const Statement& statement = evidence_.statements[i];
    if (statement.by.empty()) return Err("evidence: nobody signed statement {}", i);
    if (Encode(Answer{.body = statement.body}).size() > law_.max_answer_bytes(statement.question)) {
      return Err("evidence: statement {} (about {}) is longer than any answer can be", i, Describe(statement.question));
    }
    const Bytes question = Encode(dispute_, statement.question);
    Answer answer{.body = statement.body};
    for (std::size_t k = 0; k < statement.by.size(); ++k) {
      const ProviderId id = statement.by[k].provider;
      if (k > 0 && id <= statement.by[k - 1].provider) return Err("evidence: the signers of statement {} are not ascending", i);
      if (id >= claims_.size()) return Err("evidence: statement {} is of party {}, there is none", i, id);
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
    side.all.Add(statement->question, statement->body);
    if (ProvesItself(statement->question)) side.self_proving.Add(statement->question, statement->body);
  }
  return side;
}

Status Judging::Weigh(const Trial& trial) {
  std::vector<Side> sides;
  for (std::size_t s = 0; s < 2; ++s) {
    ASSAY_TRY(CheckNamed(trial.claims[s]));
    ASSAY_ASSIGN(Side side, Collect(trial.said[s]));
    sides.push_back(std::move(side));
  }
  for (const StatementId id : trial.shared) {
    ASSAY_ASSIGN(const Statement* statement, Use(id));
    static_cast<void>(statement);
  }
  for (const ProviderId id : trial.convicted) ASSAY_TRY(CheckNamed(id));
  const Claim &a = claims_[trial.claims[0]], &b = claims_[trial.claims[1]];
  const Outcome outcome = law_.examine(a, b, sides[0].all, sides[1].all);
  if (const auto* undecided = std::get_if<Undecided>(&outcome.next)) {
    // Decided by something that the referee had and the evidence does not hold.
    judgement_.unchecked.push_back(undecided->why + (undecided->decided_by.empty() ? "" : "; " + undecided->decided_by));
    for (const ProviderId id : trial.convicted)
      Fell(id, Standing::kStanding, false, "charged with what cannot be checked here");
    return {};
  }
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
  shared_entries_.clear();
  for (const ProviderId id : trial.convicted) {
    bool stands = false;
    for (const Party side : {Party::kA, Party::kB}) {
      const auto s = static_cast<std::size_t>(side);
      if (!finding->strikes(side) || !Stands(trial, s, sides[s], id, *finding, entry)) continue;
      stands = true;
      FellBySaying(id, StruckAs(*finding, side, !own_work_.contains({claims_[id].signer.point(), law_.group(claims_[id])})),
                   finding->reason);
    }
    if (!stands) return Unfounded(id);
  }
  judgement_.findings.push_back(*finding);
  for (std::size_t s = 0; s < 2; ++s) judgement_.sides[s].push_back(trial.claims[s]);
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
  const bool of_the_receipt = IsAboutReceipt(finding.cause) || (finding.unproven && IsAboutReceipt(*finding.unproven));
  return !of_the_receipt && entry && Shares(trial, id, trial.claims[s], *entry);
}

// Whether the logs of both have been shown to be the same at this entry and the one before.
bool Judging::Shares(const Trial& trial, ProviderId id, ProviderId with, std::int64_t entry) {
  if (entry < 1) return false;
  const auto &first = SharedEntries(trial, id, entry), &second = SharedEntries(trial, with, entry);
  return first && second && *first == *second;
}

// What a trial's shared statements show of a log, the same for all who promise the same: looked for once.
const std::optional<std::vector<Bytes>>& Judging::SharedEntries(const Trial& trial, ProviderId of, std::int64_t entry) {
  const auto [place, fresh] = shared_entries_.try_emplace(law_.group(claims_[of]));
  if (!fresh) return place->second;
  const auto at = static_cast<std::uint64_t>(entry);
  const LeavesQuestion wanted{{.kind = TreeKind::kLog}, {{at - 1, at + 1}}};
  const Question question(wanted);
  for (const StatementId said : trial.shared) {
    const Statement& statement = evidence_.statements[said];
    if (statement.question != question) continue;
    if (auto opened = law_.open_log(claims_[of], wanted, statement.body)) {
      place->second = *std::move(opened);
      break;
    }
  }
  return place->second;
}

Status Judging::Weigh(const UnprovenLog& charge) {
  ASSAY_TRY(CheckNamed(charge.provider));
  ASSAY_ASSIGN(const Statement* statement, Use(charge.said));
  const auto* question = std::get_if<LeavesQuestion>(&statement->question);
  const Claim& claim = claims_[charge.provider];
  if (question == nullptr || question->tree != TreeName{.kind = TreeKind::kLog} ||
      question->spans.back().end > claim.receipt.log.size) {
    return Err("evidence: charge {} is not about entries of a log", charge_);
  }
  const auto opened = law_.open_log(claim, *question, statement->body);
  if (!Signed(*statement, charge.provider) || opened) return Unfounded(charge.provider);
  FellBySaying(charge.provider, Standing::kConvicted, fmt::format("did not prove its own log: {}", opened.error().message));
  return {};
}

Status Judging::Weigh(const TwoAnswers& charge) {
  ASSAY_TRY(CheckNamed(charge.provider));
  ASSAY_ASSIGN(const Statement* first, Use(charge.first));
  ASSAY_ASSIGN(const Statement* second, Use(charge.second));
  const bool contradict = first->question == second->question && first->body != second->body;
  if (!contradict || !Signed(*first, charge.provider) || !Signed(*second, charge.provider)) return Unfounded(charge.provider);
  FellBySaying(charge.provider, Standing::kEquivocated, fmt::format("gave two answers about {}", Describe(first->question)));
  return {};
}

Status Judging::Weigh(const TwoReceipts& charge) {
  for (const ProviderId id : {charge.first, charge.second}) ASSAY_TRY(CheckNamed(id));
  const Claim &first = claims_[charge.first], &second = claims_[charge.second];
  if (first.signer.point() != second.signer.point() || charge.first == charge.second || !law_.contradict(first, second)) {
    return Unfounded(charge.second);
  }
  for (const ProviderId id : {charge.first, charge.second}) {
    Fell(id, Standing::kEquivocated, true, "signed two receipts for one job that contradict each other");
  }
  return {};
}

Status Judging::Weigh(const Silence& charge) {
  ASSAY_TRY(CheckNamed(charge.provider));
  Fell(charge.provider, Standing::kSilent, false,
       fmt::format("gave no answer about {}, says the referee", Describe(charge.question)));
  return {};
}

// Whether anybody stands who claims the same.
bool Judging::GroupStands(ProviderId id) const {
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    if (judgement_.parties[i].standing == Standing::kStanding && law_.group(claims_[i]) == law_.group(claims_[id])) return true;
  }
  return false;
}

// Brings nobody down, so that it comes last and alone.
Status Judging::Weigh(const Draw& draw) {
  if (charge_ + 1 != evidence_.charges.size()) return Err("evidence: charge {} is a draw, and not the last", charge_);
  std::vector<Side> sides;
  for (std::size_t s = 0; s < 2; ++s) {
    ASSAY_TRY(CheckNamed(draw.claims[s]));
    if (!GroupStands(draw.claims[s])) return Err("evidence: charge {} is a draw with one of whom nobody stands", charge_);
    ASSAY_ASSIGN(Side side, Collect(draw.said[s]));
    sides.push_back(std::move(side));
  }
  const Outcome outcome = law_.examine(claims_[draw.claims[0]], claims_[draw.claims[1]], sides[0].all, sides[1].all);
  fresh_ = true;
  const auto* undecided = std::get_if<Undecided>(&outcome.next);
  if (undecided == nullptr) return Err("evidence: what is said in charge {} is no draw", charge_);
  judgement_.drawn = *undecided;
  return {};
}

void Judging::Conclude() {
  std::vector<Standing> standings;
  std::vector<std::optional<std::uint32_t>> groups;
  std::vector<std::uint32_t> numbers;
  std::map<Digest, std::uint32_t> known;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const Judgement::Party& party = judgement_.parties[i];
    standings.push_back(party.standing);
    groups.emplace_back(known.emplace(law_.group(claims_[i]), static_cast<std::uint32_t>(known.size())).first->second);
    numbers.push_back(party.number);
    judgement_.convicts = judgement_.convicts || (IsGuilty(party.standing) && party.proven);
  }
  judgement_.verdict = VerdictOf(standings, groups, numbers, evidence_.pair);
}

}  // namespace

Result<Judgement> JudgeBy(const Law& law, std::span<const Claim> claims, const Evidence& evidence,
                          std::span<const Claim> others) {
  if (claims.size() != evidence.parties.size())
    return Err("evidence: {} parties and {} claims", evidence.parties.size(), claims.size());
  return Judging(law, claims, others, evidence).Run();
}

namespace {

Result<Judgement> JudgeWith(const StartingBytes& start, std::span<const Claim> claims, const Evidence& evidence,
                            std::span<const Claim> others) {
  ASSAY_ASSIGN(Terms terms, Terms::Make(evidence.job, evidence.program));
  terms.set_starting_weights(start);
  const Digest job = terms.id();
  const auto law = LawOf(std::make_shared<const Terms>(std::move(terms)),
                         {.referee = evidence.referee, .nonce = evidence.nonce, .pair = evidence.pair});
  ASSAY_ASSIGN(Judgement judgement, JudgeBy(*law, claims, evidence, others));
  judgement.job = job;
  return judgement;
}

}  // namespace

bool IsContradicted(std::size_t claims, const Judgement& judgement) { return claims > 1 || judgement.convicts; }

std::size_t ClaimsIn(const Evidence& evidence) { return evidence.parties.size() + evidence.others.size(); }

std::string VerdictOf(const Evidence& evidence, const Judgement& judgement) {
  return IsContradicted(ClaimsIn(evidence), judgement) ? judgement.verdict : "undecided";
}

Result<Judgement> Judge(const Evidence& evidence, const StartingBytes& start) {
  std::vector<Claim> claims, others;
  for (std::size_t i = 0; i < evidence.parties.size(); ++i) {
    ASSAY_ASSIGN(Claim claim, OpenClaim(evidence.parties[i].receipt, fmt::format("evidence: receipt {}", i)));
    claims.push_back(std::move(claim));
  }
  for (const std::string& receipt : evidence.others) {
    ASSAY_ASSIGN(Claim claim, OpenClaim(receipt, "evidence: another receipt"));
    others.push_back(std::move(claim));
  }
  auto judgement = JudgeWith(start, claims, evidence, others);
  const bool draws = !evidence.charges.empty() && std::holds_alternative<Draw>(evidence.charges.back());
  if (judgement || !start || !draws) return judgement;
  // Left open by a referee that did not have the file: what it would have asked with it is not in the evidence.
  ASSAY_ASSIGN(Judgement open, JudgeWith({}, claims, evidence, others));
  open.drawn->decided_by = "a dispute that is held with the job's file of weights at hand (--job JOB)";
  return open;
}

}  // namespace assay::dispute
