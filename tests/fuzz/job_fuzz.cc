// Job files.
#include "assay/base/check.h"
#include "assay/job/job.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunJob(ByteSpan input) {
  const auto job = ParseJob(AsText(input), "job");
  if (!job) {
    ASSAY_CHECK(job.error().message.find('\n') == std::string::npos);
    return;
  }
  const auto again = ParseJob(ToToml(*job), "again");
  ASSAY_CHECK(again.has_value());
  ASSAY_CHECK(Encode(*again, {}) == Encode(*job, {}));
  LearningRate(job->schedule, 0);
  LearningRate(job->schedule, job->steps);
}

std::vector<Bytes> JobSeeds() {
  return {
      ToBytes("steps = 5\nseed = 3\n[model]\nkind = \"gpt2\"\nlayers = 2\nheads = 2\nwidth = 8\ncontext = 64\ndropout = "
              "0.1\n[data]\nkind = \"chars\"\n"
              "path = \"a\"\n[schedule]\nkind = \"warmup_cosine\"\nlr = 1e-3\nwarmup = 2\n[optimizer]\nkind = "
              "\"adamw\"\nclip_norm = 1.0\n"),
      ToBytes("[model]\nkind = \"mlp\"\nhidden = [1, 2]\n[data]\nkind = \"features\"\n[optimizer]\nkind = "
              "\"sgd\"\nnesterov = true\n"),
      ToBytes("[model]\nkind = \"resnet\"\ndepth = 50\n[data]\nkind = \"cifar10\"\n[schedule]\nkind = \"step\"\nevery = "
              "2\ngamma = 0.5\n"),
      ToBytes("[model]\nkind = \"resnet\"\nimage = 8\nimage_width = 9\n[data]\nkind = \"arrays\"\nlayout = \"nchw\"\naugment = "
              "true\n"),
      ToBytes("[model]\nkind = \"llama\"\n[data]\nkind = \"tokens\"\n[eval]\nevery = 1\n[snapshot]\nkeep = 0\n")};
}

}  // namespace assay::fuzz
