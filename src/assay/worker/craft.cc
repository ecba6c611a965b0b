#include "assay/worker/craft.h"

#include <utility>

#include "assay/audit/claims.h"

namespace assay::worker {
namespace {

class HonestTestimony : public Testimony {
 public:
  static Result<std::unique_ptr<Testimony>> Make(RunDirectory run, const PreparedJob& prepared, const SigningKey& key,
                                                 const Compute& compute, std::size_t memory) {
    std::unique_ptr<HonestTestimony> made(new HonestTestimony(std::move(run), key));
    ASSAY_ASSIGN(made->account_, dispute::RunAccount::Make(made->run_, prepared, *compute.backend, *compute.pool,
                                                           dispute::RunAccount::Limits::Of(memory)));
    return made;
  }
  dispute::RunAccount& account() override { return *account_; }
  const SigningKey& key() const override { return key_; }

 private:
  HonestTestimony(RunDirectory run, const SigningKey& key) : run_(std::move(run)), key_(key) {}
  RunDirectory run_;
  const SigningKey& key_;
  std::unique_ptr<dispute::RunAccount> account_;
};

}  // namespace

Result<TrainOutcome> Craft::Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                                  const Compute& compute, const TrainHooks& hooks) {
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(run_path, ContentOf(prepared, run_path), key.verify_key()));
  return assay::Train(prepared, run, key, *compute.backend, *compute.pool, hooks);
}

Result<std::unique_ptr<Testimony>> Craft::Testify(const PreparedJob& prepared, const std::string& run_path,
                                                  const SigningKey& key, const Compute& compute, std::size_t memory) {
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::Open(run_path));
  // Whoever answers from a damaged copy would lose what it is in the right about.
  ASSAY_ASSIGN(const RunFaults faults, FindFaults(run, *compute.pool));
  if (faults.damage) return Err("{}: is damaged: {}", run_path, faults.damage->reason);
  return HonestTestimony::Make(std::move(run), prepared, key, compute, memory);
}

}  // namespace assay::worker
