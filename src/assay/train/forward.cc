#include "assay/train/forward.h"

#include <algorithm>
#include <string>
#include <utility>

#include "assay/base/check.h"

namespace assay {
namespace {

constexpr std::string_view kStatePrefix = "state/";
constexpr std::string_view kBatchPrefix = "batch/";

const Tensor& FindState(std::span<const StateSpec> specs, std::span<const Tensor> state, std::string_view name) {
  const auto found = std::lower_bound(specs.begin(), specs.end(), name,
                                      [](const StateSpec& spec, std::string_view wanted) { return spec.name < wanted; });
  ASSAY_CHECK(found != specs.end() && found->name == name);
  return state[static_cast<std::size_t>(found - specs.begin())];
}

}  // namespace

ForwardPass::ForwardPass(Graph graph, std::span<const StateSpec> specs, std::span<const Tensor> state, Backend& backend)
    : graph_(std::move(graph)),
      executor_(graph_, backend, {}),
      backend_(backend),
      rng_(TensorType{DType::kU32, {4}}, backend.memory()),
      input_pointers_(graph_.inputs().size()) {
  for (std::size_t i = 0; i < input_pointers_.size(); ++i) {
    const std::string_view name = graph_.inputs()[i].name;
    const TensorType& type = graph_.type(graph_.inputs()[i].value);
    if (name.starts_with(kStatePrefix)) {
      const Tensor& tensor = FindState(specs, state, name.substr(kStatePrefix.size()));
      const bool here = &tensor.space() == &backend.memory();
      input_pointers_[i] = here ? tensor.data() : device_state_.emplace_back(tensor.CopyTo(backend.memory())).data();
    } else if (name.starts_with(kBatchPrefix)) {
      fields_.push_back({std::string(name.substr(kBatchPrefix.size())), type});
      batch_.emplace_back(type);
      batch_inputs_.push_back(i);
    } else {
      ASSAY_CHECK(name == "rng");
      input_pointers_[i] = rng_.data();
    }
  }
  for (const NamedValue& output : graph_.outputs()) outputs_.emplace_back(graph_.type(output.value));
  if (backend.AsHost() != nullptr) return;
  for (const Tensor& tensor : batch_) device_batch_.emplace_back(tensor.type(), backend.memory());
  for (const Tensor& tensor : outputs_) device_outputs_.emplace_back(tensor.type(), backend.memory());
}

const Tensor& ForwardPass::Field(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const BatchField& field) { return field.name == name; });
  ASSAY_CHECK(found != fields_.end());
  return batch_[static_cast<std::size_t>(found - fields_.begin())];
}

const Tensor& ForwardPass::Output(std::string_view name) const {
  const auto found = graph_.FindOutput(name);
  ASSAY_CHECK(found.has_value());
  return outputs_[*found];
}

void ForwardPass::Run() {
  const bool host = backend_.AsHost() != nullptr;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!host) backend_.memory().CopyIn(device_batch_[i].data(), batch_[i].data(), batch_[i].type().bytes());
    input_pointers_[batch_inputs_[i]] = (host ? batch_ : device_batch_)[i].data();
  }
  std::vector<void*> outputs;
  outputs.reserve(outputs_.size());
  for (Tensor& output : host ? outputs_ : device_outputs_) outputs.push_back(output.data());
  executor_.Run(input_pointers_, outputs);
  for (std::size_t i = 0; i < device_outputs_.size(); ++i) {
    backend_.memory().CopyOut(outputs_[i].data(), device_outputs_[i].data(), outputs_[i].type().bytes());
  }
}

}  // namespace assay
