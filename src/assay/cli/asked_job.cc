#include "assay/cli/asked_job.h"

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/exec/step.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

// The elements of one tensor; the file is read once.
dispute::StartingBytes StartOf(const std::shared_ptr<const PreparedJob>& prepared) {
  auto state = std::make_shared<std::optional<State>>();
  return [prepared, state](std::size_t tensor, Range elements) -> Bytes {
    if (!*state) {
      auto start = StartingState(*prepared);
      if (!start) return {};
      *state = std::move(*start);
    }
    const Tensor& from = (**state)[tensor];
    const std::size_t size = SizeOf(from.type().dtype);
    const ByteSpan bytes = from.bytes().subspan(static_cast<std::size_t>(elements.begin) * size,
                                                static_cast<std::size_t>(elements.end - elements.begin) * size);
    return {bytes.begin(), bytes.end()};
  };
}

}  // namespace

Status CheckNamesJob(const std::string& text) {
  if (Exists(text) || Digest::FromHex(text)) return {};
  return Err("--job: there is no file '{}', and it is not the 64 hex digits of a job's id", OneLine(text));
}

Result<AskedJob> OpenAskedJob(const std::string& text, const std::string& data) {
  AskedJob asked;
  if (const auto id = Digest::FromHex(text); id && !Exists(text)) {
    if (!data.empty()) return Err("--data: belongs to --job FILE; the id of a job says which data it has");
    asked.id = *id;
    return asked;
  }
  ASSAY_TRY(CheckNamesJob(text));
  ASSAY_ASSIGN(Job job, LoadJob(text));
  ASSAY_TRY(UseData(job, data));
  ASSAY_ASSIGN(PreparedJob prepared, Prepare(std::move(job)));
  asked.prepared = std::make_shared<const PreparedJob>(std::move(prepared));
  asked.id = asked.prepared->identity.job;
  if (!asked.prepared->job.init_weights.empty()) asked.start = StartOf(asked.prepared);
  return asked;
}

}  // namespace assay::cli
