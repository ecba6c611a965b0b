#include "checks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "assay/dispute/evidence_files.h"
#include "edits.h"
#include "order.h"

namespace assay::dispute {
namespace {

class Checks {
 public:
  Checks(const Ended& ended, Simulated& result) : ended_(ended), stage_(ended.scenario.stage), result_(result) {
    for (const Desk* desk : ended.desks) {
      if (desk != nullptr) honest_.push_back(stage_.PointOf(desk->key()));
    }
  }

  void Run() {
    const Record& record = ended_.record;
    result_.matches = record.matches.size();
    for (const ProviderRecord& provider : record.providers) result_.standings.push_back(provider.standing);
    for (const Actor& actor : ended_.scenario.actors) result_.poses += actor.poses ? 1 : 0;
    CheckStanding(record);
    CheckMatches(record);
    CheckBudgets(record);
    CheckEvidence(record);
    if (ended_.scenario.safe() && result_.deeds.learnt > 0) Fail("a stranger was given an answer");
    if (result_.problem.empty()) CheckEdits();
    if (result_.problem.empty() && ended_.dice.One(3)) {
      ++result_.reordered;
      if (std::string wrong = CheckOrder(stage_, ended_.scenario.actors, ended_.options, ended_.dice); !wrong.empty())
        WrongVerdict(std::move(wrong));
    }
  }

 private:
  void Fail(std::string problem) {
    if (result_.problem.empty()) result_.problem = std::move(problem);
  }
  void Convicted(std::string how) {
    ++result_.honest_convicted;
    Fail(std::move(how));
  }
  void WrongVerdict(std::string how) {
    ++result_.wrong_verdicts;
    Fail(std::move(how));
  }

  void CheckStanding(const Record& record) {
    std::optional<std::uint32_t> truth;  // the group of the honest
    bool stands = false, refused = false;
    for (ProviderId id = 0; id < ended_.desks.size(); ++id) {
      if (!ended_.desks[id]) continue;
      const ProviderRecord& provider = record.providers[ended_.parties[id]];
      if (IsGuilty(provider.standing))
        return Convicted(fmt::format("the honest provider {} is {}: {}", id, ToString(provider.standing), provider.why));
      if (provider.standing != Standing::kStanding && ended_.scenario.safe())
        return WrongVerdict(fmt::format("the honest provider {} is {}: {}", id, ToString(provider.standing), provider.why));
      truth = provider.group;
      stands = stands || provider.standing == Standing::kStanding;
      refused = refused || provider.standing == Standing::kUnheard;
      result_.unheard += provider.standing == Standing::kUnheard ? 1 : 0;
    }
    if (!stands && !refused) return;
    std::vector<std::optional<std::uint32_t>> groups;
    std::vector<std::uint32_t> numbers;
    bool open = false;  // somebody with another claim was not heard
    for (ProviderId id = 0; id < ended_.desks.size(); ++id) {
      const ProviderRecord& provider = record.providers[id];
      groups.push_back(provider.group);
      numbers.push_back(id);
      if (!provider.group || provider.group == truth) continue;
      open = open || provider.standing == Standing::kUnheard;
      if (stands && provider.standing == Standing::kStanding)
        return WrongVerdict(fmt::format("provider {} claims something else and stands", id));
    }
    const std::string verdict = VerdictOf(result_.standings, groups, numbers, false);
    const bool names = verdict.find_first_not_of("0123456789") == std::string::npos && groups[std::stoul(verdict)] == truth;
    const bool undecided = verdict == "undecided";
    const bool right = record.groups.size() == 1 ? verdict == "both" : open ? undecided : names || (!stands && undecided);
    if (!right) WrongVerdict("the verdict is " + verdict);
  }

  void CheckMatches(const Record& record) {
    std::map<std::uint32_t, std::size_t> played;
    for (const MatchRecord& match : record.matches) {
      result_.rounds += match.rounds;
      result_.bouts += match.bouts;
      for (const std::uint32_t side : match.groups) ++played[side];
    }
    std::size_t most = 0;
    while ((std::size_t{1} << most) < record.groups.size()) ++most;
    for (const auto& [side, matches] : played) {
      if (matches > most) Fail(fmt::format("group {} plays {} matches of {} groups", side, matches, record.groups.size()));
    }
    if (record.matches.size() + 1 > std::max<std::size_t>(1, record.groups.size())) Fail("too many matches");
  }

  void CheckBudgets(const Record& record) {
    const auto bouts = static_cast<std::int64_t>(2 * (std::max<std::size_t>(2, record.parties) - 1));
    const Budget stated = Times(bouts, stage_.bout());
    const Budget open = Times(ended_.scenario.open_bouts, stage_.bout());
    for (ProviderId id = 0; id < ended_.desks.size(); ++id) {
      if (ended_.desks[id] && !open.Holds(ended_.desks[id]->spent_by_all()))
        return Fail(fmt::format("provider {} has told strangers more than it meant to", id));
      if (!ended_.desks[id] || !ended_.scenario.safe()) continue;
      const Budget spent = ended_.desks[id]->spent(record.dispute);
      const auto part = [&](auto of, auto all) {
        result_.most_used = std::max(result_.most_used, static_cast<double>(of) / static_cast<double>(all));
      };
      part(spent.work.steps_run, stated.work.steps_run);
      part(spent.work.steps_traced, stated.work.steps_traced);
      part(spent.work.batches_loaded, stated.work.batches_loaded);
      part(spent.bytes, stated.bytes);
      if (result_.most_used > 1) {
        return Fail(
            fmt::format("provider {} has run {} steps, traced {}, loaded {} and said {} bytes in a dispute of {} parties", id,
                        spent.work.steps_run, spent.work.steps_traced, spent.work.batches_loaded, spent.bytes, record.parties));
      }
    }
  }

  // A judge finds what the referee found.
  void CheckEvidence(const Record& record) {
    if (!result_.problem.empty()) return;
    const Evidence evidence = stage_.EvidenceOf(ended_.options, ended_.receipts, record);
    const Result<Evidence> read = DecodeEvidence(Encode(evidence));
    if (!read) return Fail(read.error().message);
    const Result<Judgement> judgement = stage_.Judged(*read);
    if (!judgement) return Fail(judgement.error().message);
    for (const Judgement::Party& party : judgement->parties) {
      Standing standing = record.providers[party.number].standing;
      if (standing == Standing::kUnheard) standing = Standing::kStanding;  // evidence charges it with nothing
      if (party.standing != standing) return Fail(fmt::format("provider {} has another standing", party.number));
      if (party.proven == (standing == Standing::kSilent))
        return Fail(fmt::format("provider {} is {}: {}", party.number, ToString(standing), party.by));
    }
    CheckFiles(evidence, *judgement);
    for (const Evidence& theirs : ended_.loot.evidence) {
      ++result_.judged;
      const Verdict verdict = Weighed(stage_, theirs, honest_);
      if (!verdict.wrong.empty()) return Convicted("of a stranger's evidence " + verdict.wrong);
      if (!verdict.valid) return Fail("a stranger's evidence is none");
    }
    ended_.loot.evidence.push_back(evidence);
  }

  // A judge that does not read all of it at once finds the same in several files.
  void CheckFiles(const Evidence& evidence, const Judgement& whole) {
    if (evidence.charges.size() < 2) return;
    const EvidenceLimits limits{.bytes = Encode(evidence).size() - 1};
    const EvidenceFiles made = InFiles(evidence, limits);
    std::vector<bool> proven(whole.parties.size(), false);
    for (const Evidence& file : made.files) {
      const Result<Evidence> read = DecodeEvidence(Encode(file), limits);
      if (!read) return Fail(read.error().message);
      const Verdict verdict = Weighed(stage_, *read, honest_);
      if (!verdict.wrong.empty()) return Convicted("of a part of the evidence " + verdict.wrong);
      const Result<Judgement> judgement = stage_.Judged(*read);
      if (!judgement) return Fail(judgement.error().message);
      for (std::size_t i = 0; i < proven.size(); ++i) {
        if (IsGuilty(judgement->parties[i].standing) && judgement->parties[i].proven) proven[i] = true;
      }
    }
    for (std::size_t i = 0; i < proven.size() && made.left_out.empty(); ++i) {
      if (proven[i] != (IsGuilty(whole.parties[i].standing) && whole.parties[i].proven))
        return Fail(fmt::format("{} files of evidence say something else of party {} than one", made.files.size(), i));
    }
  }

  void CheckEdits() {
    std::vector<Key> keys;
    for (const Actor& actor : ended_.scenario.actors) {
      if (actor.habit != Habit::kHonest && !actor.poses) keys.push_back(actor.key);
    }
    for (Key key = kFirstPuppet; key < kKeys; ++key) keys.push_back(key);
    for (ProviderId id = 0; id < ended_.desks.size(); ++id) Overhear(id);
    Editor editor(stage_, ended_.dice, ended_.loot, std::move(keys));
    const std::size_t guilty = Weighed(stage_, ended_.loot.evidence.back(), honest_).guilty;
    for (; result_.edits < ended_.scenario.edits; ++result_.edits) {
      const Verdict verdict = Weighed(stage_, editor.Edited(), honest_);
      if (!verdict.wrong.empty()) return Convicted("of edited evidence " + verdict.wrong);
      ++(!verdict.valid             ? result_.invalid
         : verdict.guilty < guilty  ? result_.less
         : verdict.guilty == guilty ? result_.same
                                    : result_.more);
    }
  }

  // Evidence shows what the honest have said to the referee.
  void Overhear(ProviderId id) {
    if (!ended_.desks[id]) return;
    for (const Statement& statement : ended_.loot.evidence.back().statements) {
      for (const SignedBy& by : statement.by) {
        if (ended_.loot.evidence.back().parties[by.provider].receipt != ended_.receipts[id]) continue;
        ended_.loot.answers.push_back({ended_.scenario.actors[id].key,
                                       ended_.record.dispute,
                                       statement.question,
                                       {.body = statement.body, .signature = by.signature}});
      }
    }
  }

  const Ended& ended_;
  const Stage& stage_;
  Simulated& result_;
  std::vector<KeyPoint> honest_;
};

}  // namespace

void CheckPlay(const Ended& ended, Simulated& result) { Checks(ended, result).Run(); }

}  // namespace assay::dispute
