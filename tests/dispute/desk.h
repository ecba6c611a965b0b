// Desk: an honest provider in a simulation, as strangers and referees meet it: a real docket that says who may ask, a run that answers, a meter that says what it cost, and a memory of
// answers that were given. It does what Answerer does and charges what it charges, with the keys and runs of a stage. Not synchronised.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "assay/dispute/fees.h"
#include "stage.h"

namespace assay::dispute {

class Desk {
 public:
  // The stage must outlive it.
  Desk(const Stage& stage, Key key, std::string receipt, Docket::Options options);

  tl::expected<Digest, Denied> Open(ByteSpan opening);
  tl::expected<Answer, Denied> Ask(ByteSpan question, const Signature& signature);
  // What it had in memory is gone: disputes, budgets, answers, states.
  void Restart();

  Key key() const { return key_; }
  const std::string& receipt() const { return receipt_; }
  // The most that a dispute has cost between two restarts.
  Budget spent(const Digest& dispute) const;
  Budget spent_by_all() const { return docket_->spent_by_all(); }

 private:
  const Stage& stage_;
  Key key_;
  std::string receipt_;
  Docket::Options options_;
  std::optional<Docket> docket_;
  std::optional<Meter> meter_;        // what it does, whoever asks
  std::optional<Fees> fees_;          // what each dispute is charged for
  std::map<Digest, Answer> answers_;  // by the hash of the question
  std::map<Digest, Budget> spent_, most_;
};

}  // namespace assay::dispute
