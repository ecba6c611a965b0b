// What the models share while they emit their forward pass. Internal to model/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/model/model.h"
#include "assay/ops/builder.h"

namespace assay::model {

// A tensor of the model: a parameter that the optimizer trains, or a running statistic.
struct Parameter {
  std::string name;
  Shape shape;
  Init init;
  bool trained = true;
};

// One forward pass being emitted. A model asks for its tensors by name and numbers its random nodes in program order.
class Forward {
 public:
  Forward(OpBuilder& ops, const ParameterValues& parameters, ValueId rng, bool train)
      : ops_(ops), parameters_(parameters), rng_(rng), train_(train) {}

  OpBuilder& ops() { return ops_; }
  bool train() const { return train_; }
  ValueId rng() const { return rng_; }
  ValueId operator[](const std::string& name) const { return parameters_.at(name); }
  std::int64_t NextStream() { return next_stream_++; }

  // x · W + b with W [in, out], and x · Wᵀ + b with W [out, in]; the bias NAME.bias is optional in the second form.
  ValueId Conv1d(ValueId x, const std::string& name);
  ValueId Linear(ValueId x, const std::string& name, bool bias);
  // The identity outside training or when p is 0.
  ValueId Dropout(ValueId x, float p);

  // A batch statistic that the update folds into the state tensor `name`.
  void Statistic(std::string name, ValueId value) { statistics_.emplace_back(std::move(name), value); }
  const std::vector<std::pair<std::string, ValueId>>& statistics() const { return statistics_; }

 private:
  OpBuilder& ops_;
  const ParameterValues& parameters_;
  ValueId rng_;
  bool train_;
  std::int64_t next_stream_ = 0;
  std::vector<std::pair<std::string, ValueId>> statistics_;
};

// Per model: its tensors in any order, its logits [rows, classes] from its input field, and whether its configuration can be built.
std::vector<Parameter> Parameters(const Gpt2Config& config);
std::vector<Parameter> Parameters(const LlamaConfig& config);
std::vector<Parameter> Parameters(const ResNetConfig& config);
std::vector<Parameter> Parameters(const MlpConfig& config);
ValueId Logits(const Gpt2Config& config, Forward& f, ValueId tokens);
ValueId Logits(const LlamaConfig& config, Forward& f, ValueId tokens);
ValueId Logits(const ResNetConfig& config, Forward& f, ValueId images);
ValueId Logits(const MlpConfig& config, Forward& f, ValueId features);
Status CheckConfig(const Gpt2Config& config, const BatchConfig& batch);
Status CheckConfig(const LlamaConfig& config, const BatchConfig& batch);
Status CheckConfig(const ResNetConfig& config, const BatchConfig& batch);
Status CheckConfig(const MlpConfig& config, const BatchConfig& batch);

// "model.width: expected lo .. hi, got 0".
Status CheckRange(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high);
// Of batch.sequence.
Status CheckSequence(std::int64_t sequence, std::int64_t context);

}  // namespace assay::model
