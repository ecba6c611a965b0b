#include "assay/train/evaluate.h"

#include <algorithm>
#include <variant>

#include "assay/base/check.h"
#include "assay/train/batch.h"
#include "assay/train/forward.h"

namespace assay {
namespace {

// Rows of `logits` [rows, classes] whose first largest element is at the target. Targets of -1 do not count.
std::int64_t CountCorrect(const Tensor& logits, std::span<const std::int32_t> targets) {
  const auto classes = static_cast<std::size_t>(logits.shape().Back(0));
  const std::span<const float> values = logits.Span<float>();
  std::int64_t correct = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const auto scores = values.subspan(row * classes, classes);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    if (best == targets[row]) ++correct;
  }
  return correct;
}

}  // namespace

std::vector<std::int64_t> EvaluationIndices(std::int64_t samples, std::int64_t microbatch, std::int64_t batches) {
  ASSAY_CHECK(samples >= 1 && microbatch >= 1);
  const std::int64_t whole = std::max<std::int64_t>(1, samples / microbatch);
  const std::int64_t count = (batches == 0 ? whole : std::min(batches, whole)) * microbatch;
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) indices.push_back(count <= samples ? k * samples / count : k % samples);
  return indices;
}

Evaluation Evaluate(const Job& job, const Dataset& dataset, std::span<const StateSpec> specs, std::span<const Tensor> state,
                    std::int64_t batches, Backend& backend) {
  ForwardPass pass(BuildEval(job.model, job.batch, DigitsOf(job.precision)), specs, state, backend);
  BatchLoader loader(dataset, pass.batch_fields());
  const bool language = std::holds_alternative<Gpt2Config>(job.model) || std::holds_alternative<LlamaConfig>(job.model);
  const std::vector<std::int64_t> indices = EvaluationIndices(dataset.samples(), job.batch.microbatch, batches);
  const auto rows = static_cast<std::size_t>(job.batch.microbatch);
  double total = 0;
  std::int64_t correct = 0;
  std::int64_t predictions = 0;
  for (std::size_t begin = 0; begin < indices.size(); begin += rows) {
    const DrawContext context{.seed = job.seed, .step = 0, .position = static_cast<std::int64_t>(begin), .train = false};
    loader.Load(std::span(indices).subspan(begin, rows), context, pass.batch());
    pass.Run();
    total += static_cast<double>(pass.Output("loss").Span<float>()[0]);
    const auto targets = pass.Field(language ? "targets" : "labels").Span<std::int32_t>();
    correct += CountCorrect(pass.Output("logits"), targets);
    predictions += static_cast<std::int64_t>(targets.size());
  }
  const auto runs = static_cast<double>(indices.size() / rows);
  return {static_cast<float>(total / runs), static_cast<double>(correct) / static_cast<double>(predictions), predictions};
}

}  // namespace assay
