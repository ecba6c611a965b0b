// A cheat as the conduct of a provider: it answers for the run that it left by running its steps again, and cheats again in the same places.
#pragma once

#include <memory>
#include <string>

#include "assay/dispute/run_account.h"
#include "cheat.h"

namespace assay::attacks {

class HooksConduct : public dispute::Conduct {
 public:
  // `crooked`: the job over what the hooks make of its data; null where they leave it. Both must outlive it.
  HooksConduct(const Hooks& hooks, const PreparedJob* crooked) : hooks_(hooks), crooked_(crooked) {}

  const PreparedJob* used() const override { return crooked_; }
  bool admits_batches() const override { return hooks_.admits_batches; }
  Status Start(State& state) override { return hooks_.start ? hooks_.start(state) : Status(); }
  StepPlan Plan(const Stepper& stepper, std::int64_t step) override;
  Result<StepOutcome> Step(Stepper& stepper, State& state, std::int64_t step) override;

 private:
  const Hooks& hooks_;
  const PreparedJob* crooked_;
};

// Who answers for a run that RunCheat left.
class CheatingProvider {
 public:
  // The request that the run was made by; key, backend and pool must outlive it. An error: what is left of the run cannot be answered from.
  static Result<std::unique_ptr<CheatingProvider>> Open(const Cheat& cheat, const CheatRequest& request, const SigningKey& key,
                                                        Backend& backend, ThreadPool& pool);

  dispute::RunAccount& account() { return *account_; }
  const SigningKey& key() const { return other_key_ ? *other_key_ : key_; }  // who signed

 private:
  CheatingProvider(PreparedJob asked, RunDirectory run, const SigningKey& key)
      : asked_(std::move(asked)), run_(std::move(run)), key_(key) {}

  PreparedJob asked_;
  RunDirectory run_;
  const SigningKey& key_;
  Lie lie_;
  std::optional<Setting> setting_;
  Hooks hooks_;
  std::optional<SigningKey> other_key_;
  std::optional<PreparedJob> other_job_, crooked_;
  std::unique_ptr<HooksConduct> conduct_;
  std::unique_ptr<dispute::RunAccount> account_;
};

}  // namespace assay::attacks
