#include "assay/rounding/rounder.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"
#include "assay/rounding/paper_log.h"
#include "assay/rounding/round_values.h"
#include "assay/rounding/sort_decisions.h"

namespace assay::rounding {
namespace {

// Rounds n results and finds those that are close. Most blocks have none.
std::vector<Decision> RoundAndDecide(const numerics::Grid& grid, const double* y, const double* e, std::int64_t n,
                                     std::uint64_t position, float* out) {
  ASSAY_CHECK(e != nullptr || n == 0);
  constexpr std::int64_t kBlock = 64;
  std::vector<Decision> found;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, n - begin);
    if (!RoundValuesAndTest(grid, y + begin, e + begin, size, out + begin)) continue;
    for (std::int64_t i = begin; i < begin + size; ++i) {
      const auto decision = Decide(grid, y[i], Reach(e[i]), position + static_cast<std::uint64_t>(i));
      if (decision) found.push_back(*decision);
    }
  }
  return found;
}

}  // namespace

std::string Describe(const Inadmissible& inadmissible) {
  if (inadmissible.missing) {
    return fmt::format("says nothing of element {} of result {}: {}", inadmissible.element, inadmissible.result,
                       inadmissible.reason);
  }
  if (!inadmissible.decision) return fmt::format("is not of this step: {}", inadmissible.reason);
  const Decision& decision = *inadmissible.decision;
  const std::string what = decision.wide ? fmt::format("{}", decision.value) : decision.up ? "rounded up" : "rounded down";
  return fmt::format("decides element {} of result {} as {}: {}", inadmissible.element, inadmissible.result, what,
                     inadmissible.reason);
}

void Rounder::Begin(Mode mode, Scrutiny scrutiny) {
  mode_ = mode;
  examines_ = examiner_ && scrutiny == Scrutiny::kExamine;
  ++steps_;
  next_ = 0;
  expected_ = 0;
  results_.clear();
  symbols_.clear();
  amends_ = false;
  unreadable_.clear();
  own_symbols_.clear();
  own_.clear();
  log_.clear();
  decisions_.clear();
  followed_ = 0;
  corrections_ = 0;
  corrected_.clear();
  doubts_.clear();
  inadmissible_.reset();
  elsewhere_decided_.reset();
}

void Rounder::BeginPlain() { Begin(Mode::kPlain); }
void Rounder::BeginRecord() { Begin(Mode::kRecord); }

void Rounder::BeginFollow(DecisionLog log, Scrutiny scrutiny) {
  ASSAY_CHECK(rule_ == Rule::kBound);
  Begin(Mode::kFollow, scrutiny);
  expected_ = log.elements;
  decisions_ = std::move(log.decisions);
}

Status Rounder::BeginFollow(ByteSpan log, std::string_view what, Scrutiny scrutiny) {
  if (rule_ == Rule::kBound) {
    ASSAY_ASSIGN(DecisionLog decoded, DecodeDecisions(log, what, pool_));
    BeginFollow(std::move(decoded), scrutiny);
    log_.assign(log.begin(), log.end());
    return {};
  }
  ASSAY_ASSIGN(std::vector<std::uint8_t> symbols, DecodePaperLog(log, what));
  Begin(Mode::kFollow, scrutiny);
  expected_ = symbols.size();
  symbols_ = std::move(symbols);
  log_.assign(log.begin(), log.end());
  return {};
}

Status Rounder::BeginAmend(ByteSpan log, std::string_view what) {
  const Status begun = BeginFollow(log, what, Scrutiny::kExamine);
  if (elsewhere_ != nullptr || (!begun && begun.error().system)) return begun;
  if (!begun) {
    Begin(Mode::kFollow);
    unreadable_ = begun.error().message;
    log_.assign(log.begin(), log.end());
  }
  amends_ = true;
  return {};
}

std::uint64_t Rounder::Next(std::uint64_t elements) {
  const std::uint64_t first = next_;
  results_.push_back(first);
  next_ += elements;
  if (rule_ == Rule::kPaper && mode_ == Mode::kRecord) symbols_.resize(next_, kNotClose);
  if (rule_ == Rule::kPaper && amends_) own_symbols_.resize(next_, kNotClose);
  return first;
}

bool Rounder::WantsBounds(std::uint64_t begin, std::uint64_t end) const {
  if (mode_ == Mode::kPlain) return false;
  if (rule_ == Rule::kBound) return mode_ == Mode::kRecord || examines_ || amends_ || !DecisionsIn(begin, end).empty();
  // Symbols are written without a bound, but what can have led to them cannot be told without one.
  if (mode_ == Mode::kRecord || begin >= symbols_.size()) return false;
  const auto at = [&](std::uint64_t i) { return symbols_.begin() + static_cast<std::ptrdiff_t>(i); };
  return std::any_of(at(begin), at(std::min<std::uint64_t>(end, symbols_.size())),
                     [](std::uint8_t s) { return s != kNotClose; });
}

void Rounder::Round(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  if (mode_ == Mode::kRecord && rule_ == Rule::kBound) return Record(y, e, n, position, out);
  if (amends_ && rule_ == Rule::kBound) return Amend(y, e, n, position, out);
  if (examines_ && rule_ == Rule::kBound) {
    RoundAndDoubt(y, e, n, position, out);
  } else {
    RoundValues(grid_, y, n, out);
  }
  if (mode_ == Mode::kPlain) return;
  if (rule_ == Rule::kBound) {
    FollowDecisions(y, e, n, position, out);
  } else if (mode_ == Mode::kRecord) {
    RecordSymbols(y, n, position);
  } else {
    FollowSymbols(y, e, n, position, out);
  }
}

void Rounder::RoundExact(const double* y, std::int64_t n, float* out) const { RoundValues(grid_, y, n, out); }

void Rounder::Record(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  const std::vector<Decision> found = RoundAndDecide(grid_, y, e, n, position, out);
  if (found.empty()) return;
  const std::lock_guard lock(mutex_);
  decisions_.insert(decisions_.end(), found.begin(), found.end());
}

void Rounder::RoundAndDoubt(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  std::vector<Decision> found = RoundAndDecide(grid_, y, e, n, position, out);
  std::erase_if(found, [&](const Decision& d) { return !DecisionsIn(d.position, d.position + 1).empty(); });
  if (found.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const Decision& missing : found) doubts_.push_back(missing.position);
}

std::vector<std::uint64_t> Rounder::TakeDoubts() {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(doubts_);
  return std::exchange(doubts_, {});
}

ByLog Rounder::Judge(std::uint64_t position, const numerics::DoubleDouble& x, double e, float value) const {
  if (rule_ == Rule::kPaper) return JudgeBySymbol(grid_, symbols_.at(position), tau_, x, e, value);
  const auto said = DecisionsIn(position, position + 1);
  return JudgeByDecision(grid_, said.empty() ? std::nullopt : std::optional(said.front()), x, e, value);
}

void Rounder::RefuseAt(std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  Refused refused{.position = position};
  if (rule_ == Rule::kPaper && symbols_.at(position) != kNotClose) {
    refused.decision = Decision{.position = position, .up = symbols_[position] == kWentUp};
  }
  if (const auto said = DecisionsIn(position, position + 1); !said.empty()) refused.decision = said.front();
  Refuse(refused);
}

void Rounder::AddFollowed(std::uint64_t followed, std::uint64_t corrections, std::optional<std::uint64_t> refused) {
  const std::lock_guard lock(mutex_);
  followed_ += followed;
  corrections_ += corrections;
  if (!refused || (inadmissible_ && inadmissible_->position < *refused)) return;
  const auto about = DecisionsIn(*refused, *refused + 1);
  if (!about.empty()) inadmissible_ = {*refused, about.front()};
}

std::span<const Decision> Rounder::DecisionsIn(std::uint64_t begin, std::uint64_t end) const {
  const auto first = std::ranges::lower_bound(decisions_, begin, {}, &Decision::position);
  const auto last = std::ranges::lower_bound(first, decisions_.end(), end, {}, &Decision::position);
  return {first, last};
}

void Rounder::FollowDecisions(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  const auto decisions = DecisionsIn(position, position + static_cast<std::uint64_t>(n));
  if (decisions.empty()) return;
  ASSAY_CHECK(e != nullptr);
  std::vector<Correction> corrected;
  std::vector<std::uint64_t> doubts;
  const Decision* refused = nullptr;
  for (const Decision& decision : decisions) {
    const auto i = static_cast<std::int64_t>(decision.position - position);
    const Followed followed = Follow(grid_, decision, y[i], Reach(e[i]));
    if (followed.admissible) {
      out[i] = followed.value;
      if (!followed.corrected) continue;
      corrected.push_back(
          {.result = ResultAt(decision.position), .y = y[i], .reach = Reach(e[i]), .position = decision.position});
      if (examines_) doubts.push_back(decision.position);
    } else if (refused == nullptr) {
      refused = &decision;
    }
  }
  const std::lock_guard lock(mutex_);
  followed_ += decisions.size();
  corrections_ += corrected.size();
  corrected_.insert(corrected_.end(), corrected.begin(), corrected.end());
  doubts_.insert(doubts_.end(), doubts.begin(), doubts.end());
  if (refused != nullptr) Refuse({refused->position, *refused});
}

// As FollowDecisions, with what has to be written down about it.
void Rounder::Amend(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  const std::vector<Decision> close = RoundAndDecide(grid_, y, e, n, position, out);
  const auto decisions = DecisionsIn(position, position + static_cast<std::uint64_t>(n));
  if (close.empty() && decisions.empty()) return;
  FollowDecisions(y, e, n, position, out);
  std::vector<Decision> own;
  std::vector<std::uint64_t> missing;
  const auto leave_out = [&](const Decision& decision) {
    own.push_back(decision);
    if (examines_) missing.push_back(decision.position);
  };
  auto next = close.begin();
  for (const Decision& decision : decisions) {
    const auto i = static_cast<std::int64_t>(decision.position - position);
    for (; next != close.end() && next->position < decision.position; ++next) leave_out(*next);
    const bool here = next != close.end() && next->position == decision.position;
    if (Follow(grid_, decision, y[i], Reach(e[i])).admissible) {
      own.push_back(decision);
    } else if (here) {
      own.push_back(*next);
    }
    if (here) ++next;
  }
  std::for_each(next, close.end(), leave_out);
  const std::lock_guard lock(mutex_);
  own_.insert(own_.end(), own.begin(), own.end());
  doubts_.insert(doubts_.end(), missing.begin(), missing.end());
}

bool Rounder::IsSettled(std::uint64_t position) const {
  return amends_ && inadmissible_ && rule_ == Rule::kBound && DecisionsIn(position, position + 1).empty();
}

std::optional<float> Rounder::Overrule(std::uint64_t position) {
  ASSAY_CHECK(amends_);
  RefuseAt(position);
  const std::lock_guard lock(mutex_);
  const auto here = std::ranges::find(corrected_, position, &Correction::position);
  if (here == corrected_.end()) return std::nullopt;  // nothing was followed there
  if (rule_ == Rule::kPaper) {
    own_symbols_.at(position) = PaperSymbol(grid_, here->y, tau_);
  } else {
    std::erase_if(own_, [&](const Decision& decision) { return decision.position == position; });
    if (const auto own = Decide(grid_, here->y, here->reach, position)) own_.push_back(*own);
  }
  return grid_.Round(here->y);
}

void Rounder::Refuse(const Refused& refused) {
  if (!inadmissible_ || refused.position < inadmissible_->position) inadmissible_ = refused;
}

void Rounder::RecordSymbols(const double* y, std::int64_t n, std::uint64_t position) {
  ASSAY_CHECK(position + static_cast<std::uint64_t>(n) <= symbols_.size());
  for (std::int64_t i = 0; i < n; ++i) symbols_[position + static_cast<std::uint64_t>(i)] = PaperSymbol(grid_, y[i], tau_);
}

void Rounder::FollowSymbols(const double* y, const double* e, std::int64_t n, std::uint64_t position, float* out) {
  std::uint64_t corrections = 0;
  std::vector<Correction> corrected;
  std::vector<std::uint64_t> doubts;
  std::optional<Refused> refused;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t at = position + static_cast<std::uint64_t>(i);
    const std::uint8_t own = amends_ || examines_ ? PaperSymbol(grid_, y[i], tau_) : kNotClose;
    if (amends_) own_symbols_[at] = own;
    if (at >= symbols_.size()) continue;  // End says so
    if (examines_ && symbols_[at] != own && (!amends_ || symbols_[at] == kNotClose)) doubts.push_back(at);
    if (symbols_[at] == kNotClose) continue;
    ASSAY_CHECK(e != nullptr);
    const double reach = Reach(e[i]);
    const float value = PaperFollow(grid_, y[i], symbols_[at]);
    if (!PaperCanHave(grid_, y[i], reach, tau_, symbols_[at]) || !ChoiceAt(grid_, y[i], reach).holds(value)) {
      if (!refused) refused = {at, Decision{.position = at, .up = symbols_[at] == kWentUp}};
      continue;
    }
    corrections += value != out[i] ? 1 : 0;
    out[i] = value;
    if (!amends_) continue;
    own_symbols_[at] = symbols_[at];
    if (!examines_ || symbols_[at] == own) continue;
    doubts.push_back(at);
    corrected.push_back({.result = ResultAt(at), .y = y[i], .reach = reach, .position = at});
  }
  const std::lock_guard lock(mutex_);
  corrections_ += corrections;
  corrected_.insert(corrected_.end(), corrected.begin(), corrected.end());
  doubts_.insert(doubts_.end(), doubts.begin(), doubts.end());
  if (refused) Refuse(*refused);
}

std::uint64_t Rounder::ResultAt(std::uint64_t position) const {
  return static_cast<std::uint64_t>(std::ranges::upper_bound(results_, position) - results_.begin()) - 1;
}

void Rounder::CheckLog(StepReport& report) const {
  if (inadmissible_) {
    const std::uint64_t result = ResultAt(inadmissible_->position);
    const bool missing = !inadmissible_->decision;
    report.inadmissible = Inadmissible{
        .result = result,
        .element = inadmissible_->position - results_[result],
        .decision = inadmissible_->decision,
        .missing = missing,
        .reason = missing ? "every correct evaluation writes down how it was rounded" : "no correct evaluation rounds so"};
  } else if (!unreadable_.empty()) {
    report.inadmissible = Inadmissible{.result = results_.size(), .reason = unreadable_};
  } else if (expected_ != next_) {
    report.inadmissible = Inadmissible{
        .result = results_.size(), .reason = fmt::format("the log is about {} elements, the step has {}", expected_, next_)};
  } else if (rule_ == Rule::kBound && followed_ != decisions_.size()) {
    report.inadmissible = Inadmissible{
        .result = results_.size(),
        .reason = fmt::format("{} of {} decisions are about no result", decisions_.size() - followed_, decisions_.size())};
  }
}

void Rounder::FinishAmended(StepReport& report) {
  const bool paper = rule_ == Rule::kPaper;
  if (!paper) SortByPosition(own_, scratch_, pool_);
  // A list of symbols has many forms, so that only what differs is written anew.
  if (!report.inadmissible && (paper ? own_symbols_ == symbols_ : own_ == decisions_)) {
    report.own = report.log;
  } else {
    report.own = paper ? EncodePaperLog(own_symbols_) : EncodeDecisions(own_, next_, pool_);
  }
}

StepReport Rounder::End() {
  if (elsewhere_ != nullptr) elsewhere_->Finish(*this);
  StepReport report;
  report.elements = next_;
  report.corrections = corrections_;
  if (rule_ == Rule::kBound) report.corrected = std::move(corrected_);
  report.examined = examines_;
  if (mode_ == Mode::kFollow) CheckLog(report);
  if (rule_ == Rule::kPaper) {
    report.decisions =
        static_cast<std::uint64_t>(std::ranges::count_if(symbols_, [](std::uint8_t s) { return s != kNotClose; }));
    if (mode_ == Mode::kRecord) report.log = EncodePaperLog(symbols_);
    if (mode_ == Mode::kFollow) report.log = std::move(log_);
  } else if (mode_ == Mode::kRecord && elsewhere_decided_) {
    ASSAY_CHECK(decisions_.empty());
    report.decisions = elsewhere_decided_->count();
    report.log = elsewhere_decided_->Finish(next_);
  } else if (mode_ == Mode::kRecord) {
    SortByPosition(decisions_, scratch_, pool_);
    report.decisions = decisions_.size();
    report.log = EncodeDecisions(decisions_, next_, pool_);
  } else if (mode_ == Mode::kFollow) {
    report.decisions = followed_;
    report.log = log_.empty() ? EncodeDecisions(decisions_, expected_, pool_) : std::move(log_);
  }
  if (amends_) FinishAmended(report);
  Begin(Mode::kPlain);
  return report;
}

}  // namespace assay::rounding
