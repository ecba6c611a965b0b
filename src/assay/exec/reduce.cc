#include "assay/exec/reduce.h"

#include <bit>
#include <utility>

#include "assay/base/check.h"
#include "assay/ops/table.h"

namespace assay::exec {
namespace {

Graph AddGraph(const std::vector<TensorType>& types) {
  GraphBuilder builder(Ops());
  std::vector<ValueId> left, right;
  for (std::size_t i = 0; i < types.size(); ++i) left.push_back(builder.Input(fmt::format("left/{}", i), types[i]));
  for (std::size_t i = 0; i < types.size(); ++i) right.push_back(builder.Input(fmt::format("right/{}", i), types[i]));
  for (std::size_t i = 0; i < types.size(); ++i) {
    builder.Output(std::to_string(i), builder.Add(op::add, {}, {left[i], right[i]}).front());
  }
  return std::move(builder).Finish();
}

Graph ScaleGraph(const std::vector<TensorType>& types, std::int64_t microbatches) {
  GraphBuilder builder(Ops());
  std::vector<ValueId> in;
  for (std::size_t i = 0; i < types.size(); ++i) in.push_back(builder.Input(std::to_string(i), types[i]));
  const float factor = 1.0f / static_cast<float>(microbatches);
  for (std::size_t i = 0; i < types.size(); ++i) {
    builder.Output(std::to_string(i), builder.Add(op::scale, {factor}, {in[i]}).front());
  }
  return std::move(builder).Finish();
}

// Output i replaces input i.
ExecOptions InPlace(std::size_t outputs, bool fuse) {
  ExecOptions options;
  options.fuse = fuse;
  for (std::size_t i = 0; i < outputs; ++i) options.aliases.emplace_back(i, i);
  return options;
}

std::vector<void*> Pointers(std::vector<Tensor>& tensors) {
  std::vector<void*> pointers;
  for (Tensor& tensor : tensors) pointers.push_back(tensor.data());
  return pointers;
}

// Runs with every output in the place of the input of the same number.
void RunInPlace(Executor& executor, std::span<void* const> inputs, std::size_t outputs, const TraceSink* sink,
                std::size_t first_node) {
  const std::vector<const void*> in(inputs.begin(), inputs.end());
  if (sink == nullptr) return executor.Run(in, inputs.first(outputs));
  executor.RunTraced(in, inputs.first(outputs),
                     [&](std::size_t node, std::span<const void* const> values) { (*sink)(first_node + node, values); });
}

}  // namespace

GradientTree::GradientTree(std::vector<TensorType> types, std::int64_t microbatches, Backend& backend, bool fuse)
    : types_(std::move(types)),
      microbatches_(microbatches),
      add_graph_(AddGraph(types_)),
      scale_graph_(ScaleGraph(types_, microbatches)),
      add_(add_graph_, backend, InPlace(types_.size(), fuse)),
      scale_(scale_graph_, backend, InPlace(types_.size(), fuse)),
      memory_(backend.memory()) {
  ASSAY_CHECK(microbatches >= 2);
}

GradientTree::~GradientTree() = default;

std::vector<void*> GradientTree::Next() {
  ASSAY_CHECK(pushed_ < microbatches_);
  if (pushed_ == 0) {
    stack_.clear();
    for (Set& set : sets_) set.used = false;
  }
  current_ = 0;
  while (current_ < sets_.size() && sets_[current_].used) ++current_;
  if (current_ == sets_.size()) {
    Set set;
    for (const TensorType& type : types_) set.tensors.emplace_back(type, memory_);
    sets_.push_back(std::move(set));
  }
  sets_[current_].used = true;
  return Pointers(sets_[current_].tensors);
}

void GradientTree::Push(const TraceSink* sink) {
  stack_.push_back({current_, 0, pushed_});
  ++pushed_;
  while (stack_.size() >= 2 && stack_[stack_.size() - 2].level == stack_.back().level) Combine(sink);
}

// The additions of `level` start behind those of all levels below; a level of n nodes has n div 2 additions.
std::size_t GradientTree::NodeOffset(int level, std::int64_t pair) const {
  std::int64_t before = 0;
  std::int64_t width = microbatches_;
  for (int l = 0; l < level; ++l) {
    before += width / 2;
    width = (width + 1) / 2;
  }
  return static_cast<std::size_t>(before + pair) * types_.size();
}

// Adds the last partial sum to the one before it. A lone last node has moved up to the level of its neighbour.
void GradientTree::Combine(const TraceSink* sink) {
  const Partial right = stack_.back();
  stack_.pop_back();
  Partial& left = stack_.back();
  std::vector<void*> pointers = Pointers(sets_[left.set].tensors);
  for (void* p : Pointers(sets_[right.set].tensors)) pointers.push_back(p);
  RunInPlace(add_, pointers, types_.size(), sink, NodeOffset(left.level, left.index / 2));
  sets_[right.set].used = false;
  left = {left.set, left.level + 1, left.index / 2};
}

std::vector<const void*> GradientTree::Finish(const TraceSink* sink) {
  ASSAY_CHECK(pushed_ == microbatches_);
  while (stack_.size() > 1) Combine(sink);
  const std::vector<void*> sum = Pointers(sets_[stack_.front().set].tensors);
  RunInPlace(scale_, sum, types_.size(), sink, static_cast<std::size_t>(microbatches_ - 1) * types_.size());
  pushed_ = 0;
  return {sum.begin(), sum.end()};
}

std::size_t GradientTree::nodes() const { return static_cast<std::size_t>(microbatches_) * types_.size(); }

std::size_t GradientTree::memory_bytes() const {
  std::size_t bytes = 0;
  for (const TensorType& type : types_) bytes += type.bytes();
  const auto most = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(microbatches_ - 1))) + 1;
  return bytes * most + add_.arena_bytes() + scale_.arena_bytes();
}

}  // namespace assay::exec
