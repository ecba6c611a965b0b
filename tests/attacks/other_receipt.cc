#include <filesystem>

#include "assay/train/trainer.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

// The other job is the first step alone: quickly done, honestly, and signed by the same key.
Result<Hooks> OtherReceipt(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    Job job = setting.prepared.job;
    job.seed += 1;
    job.steps = 1;
    ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job), &setting.pool));
    const std::string path = run.path() + ".other";
    {
      ASSAY_ASSIGN(RunDirectory other, RunDirectory::OpenForTraining(path, ContentOf(prepared), run.signer()));
      ASSAY_TRY(Train(prepared, other, setting.key, setting.backend, setting.pool, {}));
      ASSAY_ASSIGN(const std::string receipt, ReadText(other.receipt_path()));
      ASSAY_TRY(WriteText(run.receipt_path(), receipt));
    }
    std::error_code ignored;  // what stays behind does no harm
    std::filesystem::remove_all(path, ignored);
    return {};
  }};
}

}  // namespace assay::attacks
