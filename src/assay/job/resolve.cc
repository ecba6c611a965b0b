#include <variant>

#include "assay/job/fields.h"

namespace assay {
namespace {

// Takes the data's value where the file gave none; otherwise they must agree.
Status Fit(std::string_view field, std::int64_t& value, std::int64_t from_data) {
  if (value == 0) value = from_data;
  if (value != from_data) return Err("{}: {} does not fit the data, which has {}", field, value, from_data);
  return {};
}

Status FitClasses(std::int64_t& classes, const DataShape& shape) {
  if (shape.classes_exact || classes == 0) return Fit("model.classes", classes, shape.classes);
  if (classes < shape.classes) return Err("model.classes: expected at least {} for this data, got {}", shape.classes, classes);
  return {};
}

Status FitVocabulary(std::int64_t& vocab, const DataShape& shape) {
  if (shape.vocabulary == 0) return Err("data.kind: a language model needs chars, bpe, tokens or packed tokens");
  if (vocab == 0 && !shape.vocabulary_exact) {
    return Err("model.vocab: expected the vocabulary's size, which a token file does not tell (its largest id is {})",
               shape.vocabulary - 1);
  }
  if (vocab == 0) vocab = shape.vocabulary;
  if (vocab < shape.vocabulary) return Err("model.vocab: expected at least {} for this data, got {}", shape.vocabulary, vocab);
  return {};
}

Status FitModel(Gpt2Config& c, const DataShape& shape) { return FitVocabulary(c.vocab, shape); }
Status FitModel(LlamaConfig& c, const DataShape& shape) { return FitVocabulary(c.vocab, shape); }

Status FitModel(ResNetConfig& c, const DataShape& shape) {
  if (shape.height == 0 && shape.classes != 0 && !shape.classes_exact) {
    return Err("data.layout: a resnet reads images, expected nhwc or nchw");
  }
  if (shape.height == 0) return Err("data.kind: a resnet needs cifar10, cifar100, images, arrays or packed arrays");
  ASSAY_TRY(FitClasses(c.classes, shape));
  ASSAY_TRY(Fit("model.image", c.image, shape.height));
  if (c.image_width == 0) c.image_width = shape.width;
  ASSAY_TRY(Fit("model.image_width", c.image_width, shape.width));
  // Square images have one side in the job's encoding.
  if (c.image_width == c.image) c.image_width = 0;
  return Fit("model.channels", c.channels, shape.channels);
}

Status FitModel(MlpConfig& c, const DataShape& shape) {
  if (shape.features == 0 && shape.classes != 0 && !shape.classes_exact) {
    return Err("data.layout: an mlp reads vectors, expected flat");
  }
  if (shape.features == 0) return Err("data.kind: an mlp needs features, arrays or packed arrays");
  ASSAY_TRY(Fit("model.inputs", c.inputs, shape.features));
  return FitClasses(c.classes, shape);
}

}  // namespace

bool TrainsOnArrays(const Job& job) {
  return job.data.kind == DataKind::kArrays || (job.data.kind == DataKind::kPacked && !job::IsLanguage(job.model));
}

Status ResolveModel(Job& job, const Data& data) {
  if (job.seed_from) job.seed = SeedFrom(data.root, *job.seed_from);
  ASSAY_TRY(std::visit([&](auto& config) { return FitModel(config, data.shape); }, job.model));
  ASSAY_TRY(Check(job.model, job.batch));
  return CheckSizes(job.model, job.batch);
}

}  // namespace assay
