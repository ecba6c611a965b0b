#include "assay/exec/step.h"

#include <optional>
#include <string_view>
#include <unordered_map>

#include "assay/base/check.h"
#include "assay/exec/reduce.h"

namespace assay {
namespace {

// What feeds an input of one of the two graphs.
struct Source {
  enum class Kind { kState, kBatch, kRng, kReduced, kLr, kStep } kind;
  std::size_t index = 0;  // of the state tensor, batch field or micro output
};

std::optional<std::string_view> After(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

struct Sources {
  std::vector<Source> micro;
  std::vector<Source> update;
  std::vector<std::optional<std::size_t>> update_state;  // by update output: the state tensor it is, if any
  std::vector<BatchField> fields;
};

Sources Connect(const Program& program) {
  ASSAY_CHECK(Verify(program).has_value());
  std::unordered_map<std::string_view, std::size_t> states;
  for (std::size_t i = 0; i < program.state.size(); ++i) states.emplace(program.state[i].name, i);
  Sources sources;
  for (const NamedValue& input : program.micro.inputs()) {
    if (const auto state = After(input.name, "state/")) {
      sources.micro.push_back({Source::Kind::kState, states.at(*state)});
    } else if (const auto field = After(input.name, "batch/")) {
      sources.micro.push_back({Source::Kind::kBatch, sources.fields.size()});
      sources.fields.push_back({std::string(*field), program.micro.type(input.value)});
    } else {
      sources.micro.push_back({Source::Kind::kRng});
    }
  }
  for (const NamedValue& input : program.update.inputs()) {
    if (const auto state = After(input.name, "state/")) {
      sources.update.push_back({Source::Kind::kState, states.at(*state)});
    } else if (const auto reduced = After(input.name, "reduced/")) {
      sources.update.push_back({Source::Kind::kReduced, *program.micro.FindOutput(*reduced)});
    } else {
      sources.update.push_back({input.name == "lr" ? Source::Kind::kLr : Source::Kind::kStep});
    }
  }
  for (const NamedValue& output : program.update.outputs()) {
    const auto state = After(output.name, "state/");
    sources.update_state.push_back(state ? std::optional(states.at(*state)) : std::nullopt);
  }
  return sources;
}

ExecOptions MicroOptions(const Program& program, bool fuse) {
  ExecOptions options;
  options.fuse = fuse;
  options.own_outputs = program.microbatches == 1;
  return options;
}

ExecOptions UpdateOptions(const Program& program, bool fuse) {
  ExecOptions options;
  options.fuse = fuse;
  for (std::size_t k = 0; k < program.update.outputs().size(); ++k) {
    const auto input = program.update.FindInput(program.update.outputs()[k].name);
    if (input) options.aliases.emplace_back(k, *input);
  }
  return options;
}

// A tensor that the host fills and kernels read: on a device, a copy in its memory.
class Feed {
 public:
  Feed(TensorType type, Backend& backend) : backend_(backend), host_(type) {
    if (backend.AsHost() == nullptr) device_ = Tensor(type, backend.memory());
  }
  Tensor& host() { return host_; }
  void Send() {
    if (backend_.AsHost() == nullptr) backend_.memory().CopyIn(device_.data(), host_.data(), host_.type().bytes());
  }
  const void* data() const { return backend_.AsHost() == nullptr ? device_.data() : host_.data(); }

 private:
  Backend& backend_;
  Tensor host_, device_;
};

float ReadFloat(Backend& backend, const void* at) {
  float value = 0;
  backend.memory().CopyOut(&value, at, sizeof value);
  return value;
}

std::vector<TensorType> OutputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (const NamedValue& output : graph.outputs()) types.push_back(graph.type(output.value));
  return types;
}

}  // namespace

struct StepRunner::Impl {
  Impl(const Program& p, Backend& b, bool fuse)
      : program(p),
        backend(b),
        sources(Connect(p)),
        micro(p.micro, backend, MicroOptions(p, fuse)),
        update(p.update, backend, UpdateOptions(p, fuse)),
        rng({DType::kU32, {4}}, backend),
        lr({DType::kF32, {}}, backend),
        step({DType::kI64, {}}, backend) {
    if (p.microbatches > 1) tree.emplace(OutputTypes(p.micro), p.microbatches, backend, fuse);
    for (std::size_t k = 0; k < sources.update_state.size(); ++k) {
      if (!sources.update_state[k]) metrics.emplace_back(TensorType{DType::kF32, {}}, backend.memory());
    }
  }

  // With the first step, like the work space: what a program would take can be asked without taking it.
  void MakeFields() {
    for (std::size_t k = fields.size(); k < sources.fields.size(); ++k) {
      fields.emplace_back(sources.fields[k].type);
      if (backend.AsHost() == nullptr) sent.emplace_back(sources.fields[k].type, backend.memory());
    }
  }

  std::size_t TreeBase() const { return static_cast<std::size_t>(program.microbatches) * program.micro.nodes().size(); }
  std::size_t UpdateBase() const { return TreeBase() + (tree ? tree->nodes() : 0); }

  std::vector<const void*> MicroInputs(const State& state) const {
    std::vector<const void*> in;
    for (const Source& source : sources.micro) {
      switch (source.kind) {
        case Source::Kind::kState: in.push_back(state[source.index].data()); break;
        case Source::Kind::kBatch: in.push_back((sent.empty() ? fields : sent)[source.index].data()); break;
        default: in.push_back(rng.data()); break;
      }
    }
    return in;
  }

  void RunMicro(State& state, const StepInput& input, std::int64_t microbatch, std::span<void* const> outputs,
                const TraceSink* sink) {
    MakeFields();
    input.load(microbatch, fields);
    for (std::size_t k = 0; k < sent.size(); ++k) {
      backend.memory().CopyIn(sent[k].data(), fields[k].data(), fields[k].type().bytes());
    }
    const auto words = rng.host().Span<std::uint32_t>();
    words[0] = static_cast<std::uint32_t>(input.seed);
    words[1] = static_cast<std::uint32_t>(input.seed >> 32);
    words[2] = input.step;
    words[3] = static_cast<std::uint32_t>(microbatch);
    rng.Send();
    const std::vector<const void*> in = MicroInputs(state);
    Dispatch(micro, in, outputs, sink, static_cast<std::size_t>(microbatch) * program.micro.nodes().size());
  }

  // Every micro output, reduced over the microbatches.
  std::vector<const void*> Reduced(State& state, const StepInput& input, const TraceSink* sink) {
    if (!tree) {
      RunMicro(state, input, 0, {}, sink);
      std::vector<const void*> reduced;
      for (std::size_t k = 0; k < program.micro.outputs().size(); ++k) reduced.push_back(micro.output(k));
      return reduced;
    }
    const TraceSink shifted = [&](std::size_t node, std::span<const void* const> values) {
      (*sink)(TreeBase() + node, values);
    };
    const TraceSink* tree_sink = sink == nullptr ? nullptr : &shifted;
    for (std::int64_t m = 0; m < program.microbatches; ++m) {
      const std::vector<void*> outputs = tree->Next();
      RunMicro(state, input, m, outputs, sink);
      tree->Push(tree_sink);
    }
    return tree->Finish(tree_sink);
  }

  StepResult Run(State& state, const StepInput& input, const TraceSink* sink) {
    ASSAY_CHECK(state.size() == program.state.size());
    const std::vector<const void*> reduced = Reduced(state, input, sink);
    lr.host().Span<float>()[0] = input.lr;
    lr.Send();
    step.host().Span<std::int64_t>()[0] = std::int64_t{input.step} + 1;
    step.Send();
    std::vector<const void*> in;
    for (const Source& source : sources.update) {
      switch (source.kind) {
        case Source::Kind::kState: in.push_back(state[source.index].data()); break;
        case Source::Kind::kReduced: in.push_back(reduced[source.index]); break;
        case Source::Kind::kLr: in.push_back(lr.data()); break;
        default: in.push_back(step.data()); break;
      }
    }
    std::vector<void*> out;
    std::size_t next_metric = 0;
    for (const auto& target : sources.update_state) {
      out.push_back(target ? state[*target].data() : metrics[next_metric++].data());
    }
    Dispatch(update, in, out, sink, UpdateBase());
    StepResult result;
    result.loss = ReadFloat(backend, reduced[0]);
    next_metric = 0;
    for (std::size_t k = 0; k < sources.update_state.size(); ++k) {
      if (sources.update_state[k]) continue;
      const auto name = After(program.update.outputs()[k].name, "metric/");
      result.metrics.push_back({std::string(*name), ReadFloat(backend, metrics[next_metric++].data())});
    }
    return result;
  }

  static void Dispatch(Executor& executor, std::span<const void* const> in, std::span<void* const> out, const TraceSink* sink,
                       std::size_t first_node) {
    if (sink == nullptr) return executor.Run(in, out);
    executor.RunTraced(in, out,
                       [&](std::size_t node, std::span<const void* const> values) { (*sink)(first_node + node, values); });
  }

  const Program& program;
  Backend& backend;
  Sources sources;
  Executor micro;
  Executor update;
  std::optional<exec::GradientTree> tree;  // when there is more than one microbatch
  std::vector<Tensor> fields;              // as the host fills them
  std::vector<Tensor> sent;                // as a device has them; empty where the host computes
  std::vector<Tensor> metrics;
  Feed rng, lr, step;
};

StepRunner::StepRunner(const Program& program, Backend& backend, bool fuse)
    : impl_(std::make_unique<Impl>(program, backend, fuse)) {}
StepRunner::~StepRunner() = default;

std::span<const BatchField> StepRunner::batch_fields() const { return impl_->sources.fields; }

StepResult StepRunner::Run(State& state, const StepInput& input) { return impl_->Run(state, input, nullptr); }

StepResult StepRunner::RunTraced(State& state, const StepInput& input, const TraceSink& sink) {
  return impl_->Run(state, input, &sink);
}

std::size_t StepRunner::nodes() const { return impl_->UpdateBase() + impl_->program.update.nodes().size(); }

std::size_t StepRunner::memory_bytes() const {
  std::size_t bytes = impl_->micro.arena_bytes() + impl_->update.arena_bytes();
  if (impl_->tree) bytes += impl_->tree->memory_bytes();
  for (const BatchField& field : impl_->sources.fields) bytes += field.type.bytes();
  return bytes;
}

}  // namespace assay
