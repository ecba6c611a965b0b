// Jobs whose model is a folder in Hugging Face's layout.
#include "assay/base/file.h"
#include "assay/job/job.h"
#include "assay/model/hf_config.h"

namespace assay {

Status TakeModelFromFolder(Job& job) {
  if (!job.model_folder) return {};
  const std::string folder = *job.model_folder;
  const auto of_folder = [](Error error) {
    error.message = "model.path: " + error.message;
    return error;
  };
  if (!IsDirectory(folder)) {
    return Err("model.path: {}: {}", folder, Exists(folder) ? "is a file, expected a folder" : "No such file or directory");
  }
  const std::string path = JoinPath(folder, "config.json");
  const auto bytes = ReadFile(path, kMaxHfConfig).map_error(of_folder);
  if (!bytes) return tl::unexpected(bytes.error());
  auto model = ParseHfConfig({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path).map_error(of_folder);
  if (!model) return tl::unexpected(model.error());
  job.model = *std::move(model);
  job.init_weights = folder;
  if (job.data.kind == DataKind::kBpe && job.data.vocabulary.empty()) job.data.vocabulary = folder;
  job.model_folder.reset();
  return Check(job.model, job.batch);
}

}  // namespace assay
