#include "conduct.h"

#include <algorithm>
#include <utility>

#include "tools.h"

namespace assay::attacks {

StepPlan HooksConduct::Plan(const Stepper& stepper, std::int64_t step) {
  StepPlan plan = stepper.Plan(step);
  if (hooks_.plan) hooks_.plan(plan);
  return plan;
}

Result<StepOutcome> HooksConduct::Step(Stepper& stepper, State& state, std::int64_t step) {
  const StepPlan plan = Plan(stepper, step);
  State before;
  if (hooks_.after) before = CopyOf(state);
  StepOutcome outcome;
  if (hooks_.run) {
    ASSAY_ASSIGN(outcome, hooks_.run(stepper, state, plan));
  } else {
    outcome = stepper.Run(state, plan);
  }
  if (hooks_.after) ASSAY_TRY(hooks_.after(step + 1, before, state));
  return outcome;
}

Result<std::unique_ptr<CheatingProvider>> CheatingProvider::Open(const Cheat& cheat, const CheatRequest& request,
                                                                 const SigningKey& key, Backend& backend, ThreadPool& pool) {
  ASSAY_ASSIGN(PreparedJob asked, Prepare(request.job, &pool));
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::Open(request.out));
  std::unique_ptr<CheatingProvider> provider(new CheatingProvider(std::move(asked), std::move(run), key));
  CheatingProvider& self = *provider;
  const std::int64_t at = request.at == 0 ? std::max<std::int64_t>(1, self.asked_.job.steps / 2) : request.at;
  self.setting_.emplace(
      Setting{.prepared = self.asked_, .key = key, .backend = backend, .pool = pool, .at = at, .lie = self.lie_});
  ASSAY_ASSIGN(self.hooks_, cheat.make(*self.setting_));
  if (self.hooks_.signer) self.other_key_ = self.hooks_.signer();
  if (self.hooks_.job) {
    Job other = self.asked_.job;
    self.hooks_.job(other);
    ASSAY_ASSIGN(self.other_job_, Prepare(std::move(other), &pool));
  }
  const PreparedJob& prepared = self.other_job_ ? *self.other_job_ : self.asked_;
  if (self.hooks_.data) {
    ASSAY_ASSIGN(self.crooked_, Prepare(prepared.job, &pool));
    self.crooked_->data.train = self.hooks_.data(std::move(self.crooked_->data.train));
  }
  self.conduct_ = std::make_unique<HooksConduct>(self.hooks_, self.crooked_ ? &*self.crooked_ : nullptr);
  ASSAY_ASSIGN(self.account_, dispute::RunAccount::Make(self.run_, prepared, backend, pool, {}, self.conduct_.get()));
  return provider;
}

}  // namespace assay::attacks
