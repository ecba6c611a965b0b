// What several cheats need: copies of states, models of somebody else, data with a few samples changed, receipts signed anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/run/receipt.h"
#include "cheat.h"

namespace assay::attacks {

State CopyOf(const State& state);
// Which tensors of the state are the model's own; the others are the optimizer's.
std::vector<bool> IsModel(const PreparedJob& prepared);
// Copies the model's tensors, not the optimizer's.
void CopyModel(const PreparedJob& prepared, const State& from, State& to);

// What the same job ends in with another seed: a model that somebody else trained.
Result<State> ForeignModel(const Setting& setting);
// A key of another person who goes by the same name.
SigningKey ForeignKey(const SigningKey& key);

// One sample of a batch, as loaded: row `row` of each tensor; tensors are parallel to the data set's fields.
struct Sample {
  const Dataset& honest;
  std::int64_t index = 0;
  const DrawContext& context;
  std::int64_t row = 0;
  std::span<Tensor> batch;
};
using SampleEdit = std::function<void(const Sample& sample)>;
// Every fourth sample is changed by `edit`, from step `setting.at` on.
std::unique_ptr<Dataset> EditEveryFourth(const Setting& setting, std::unique_ptr<Dataset> honest, SampleEdit edit);
// Where the labels or target tokens are among the fields of a data set, and how many different ones there are.
std::size_t LabelField(const Dataset& dataset);
std::int32_t LabelCount(const PreparedJob& prepared);
// The row of a tensor.
template <class T>
std::span<T> Row(Tensor& tensor, std::int64_t row) {
  const auto width = static_cast<std::size_t>(tensor.elements() / tensor.shape().dims()[0]);
  return tensor.Span<T>().subspan(static_cast<std::size_t>(row) * width, width);
}

// Signs the run's receipt once more, after `edit`.
Status AmendReceipt(const Setting& setting, const RunDirectory& run, const std::function<void(Receipt&)>& edit);
Result<std::string> ReadText(const std::string& path);
Status WriteText(const std::string& path, std::string_view text);
// The text with one bit changed in the middle of what the base64 at [begin, end) encodes.
std::string FlipBit(std::string_view text, std::size_t begin, std::size_t end);

}  // namespace assay::attacks
