#include "assay/model/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"

namespace assay {
namespace {

const Gpt2Config kTinyGpt2{.vocab = 11, .context = 16, .layers = 2, .heads = 2, .width = 8, .dropout = 0.1f};
const LlamaConfig kTinyLlama{.vocab = 11, .context = 16, .layers = 2, .heads = 4, .kv_heads = 2, .width = 16, .hidden = 24};
const ResNetConfig kTinyResNet{.depth = 18, .cifar_stem = true, .classes = 3, .image = 8, .channels = 3, .width = 4};
const MlpConfig kTinyMlp{.inputs = 6, .classes = 3, .hidden = {5}, .activation = "gelu"};
const BatchConfig kBatch{.microbatch = 2, .microbatches = 3, .sequence = 4};

std::vector<ModelConfig> AllTiny() { return {kTinyGpt2, kTinyLlama, kTinyResNet, kTinyMlp}; }

std::map<std::string, StateSpec> ByName(const std::vector<StateSpec>& specs) {
  std::map<std::string, StateSpec> out;
  for (const StateSpec& spec : specs) out[spec.name] = spec;
  return out;
}

int CountOps(const Graph& graph, OpIndex op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return n.op == op; }));
}

TEST(ParameterCount, EqualsThePublishedOnes) {
  EXPECT_EQ(ParameterCount(Gpt2Config{}), 124'439'808);
  EXPECT_EQ(ParameterCount(Gpt2Config{.layers = 24, .heads = 16, .width = 1024}), 354'823'168);
  EXPECT_EQ(ParameterCount(ResNetConfig{.depth = 18, .cifar_stem = false, .classes = 1000, .image = 224}), 11'689'512);
  EXPECT_EQ(ParameterCount(ResNetConfig{.depth = 50, .cifar_stem = false, .classes = 1000, .image = 224}), 25'557'032);
  EXPECT_EQ(ParameterCount(LlamaConfig{}), 1'100'048'384);  // TinyLlama
  EXPECT_EQ(ParameterCount(MlpConfig{.inputs = 784, .classes = 10, .hidden = {}}), 7850);
}

TEST(ModelState, Gpt2NamesAndLayouts) {
  const auto state = ByName(ModelState(kTinyGpt2));
  EXPECT_EQ(state.size(), 2u + 2 * 12 + 2);
  EXPECT_EQ(state.at("wte.weight").type.shape, (Shape{11, 8}));
  EXPECT_EQ(state.at("wpe.weight").type.shape, (Shape{16, 8}));
  EXPECT_EQ(state.at("h.1.attn.c_attn.weight").type.shape, (Shape{8, 24}));
  EXPECT_EQ(state.at("h.1.mlp.c_proj.weight").type.shape, (Shape{32, 8}));
  EXPECT_EQ(state.at("h.0.mlp.c_proj.weight").init, (Init{InitKind::kNormal, 0.02f / std::sqrt(4.0f)}));
  EXPECT_EQ(state.at("h.0.ln_1.weight").init, (Init{InitKind::kConstant, 1.0f}));
  EXPECT_EQ(state.at("ln_f.bias").init, (Init{InitKind::kConstant, 0.0f}));
}

TEST(ModelState, LlamaNamesAndLayouts) {
  const auto state = ByName(ModelState(kTinyLlama));
  EXPECT_EQ(state.at("model.layers.1.self_attn.k_proj.weight").type.shape, (Shape{8, 16}));
  EXPECT_EQ(state.at("model.layers.0.mlp.down_proj.weight").type.shape, (Shape{16, 24}));
  EXPECT_TRUE(state.contains("lm_head.weight"));
  LlamaConfig tied = kTinyLlama;
  tied.tied = true;
  EXPECT_FALSE(ByName(ModelState(tied)).contains("lm_head.weight"));
}

TEST(ModelState, ResNetNamesAndLayouts) {
  const auto state = ByName(ModelState(ResNetConfig{.depth = 50, .cifar_stem = false, .classes = 1000, .image = 224}));
  EXPECT_EQ(state.at("conv1.weight").type.shape, (Shape{64, 7, 7, 3}));
  EXPECT_EQ(state.at("layer1.0.downsample.0.weight").type.shape, (Shape{256, 1, 1, 64}));
  EXPECT_EQ(state.at("layer4.2.conv3.weight").type.shape, (Shape{2048, 1, 1, 512}));
  EXPECT_EQ(state.at("layer3.0.conv2.weight").init, (Init{InitKind::kNormal, std::sqrt(2.0f / (256 * 9))}));
  EXPECT_EQ(state.at("bn1.running_var").init, (Init{InitKind::kConstant, 1.0f}));
  EXPECT_EQ(state.at("fc.weight").type.shape, (Shape{1000, 2048}));
  EXPECT_FALSE(state.contains("layer2.1.downsample.0.weight"));
}

TEST(Program, IsValidAndCanonicalForEveryModelAndOptimizer) {
  for (const ModelConfig& model : AllTiny()) {
    ASSERT_TRUE(Check(model, kBatch)) << Check(model, kBatch).error().message;
    for (OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
      const Program program = BuildProgram(model, {.kind = kind}, kBatch);
      const auto status = Verify(program);
      ASSERT_TRUE(status) << status.error().message;
      const Bytes bytes = Encode(program);
      const auto again = DecodeProgram(Ops(), bytes);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(Encode(*again), bytes);
      EXPECT_EQ(program.microbatches, 3);
    }
  }
}

// Every parameter gets a gradient and an update, every state tensor is written.
TEST(Program, UpdatesTheWholeState) {
  for (const ModelConfig& model : AllTiny()) {
    const Program program = BuildProgram(model, {}, kBatch);
    for (const StateSpec& spec : program.state) EXPECT_TRUE(program.update.FindOutput("state/" + spec.name)) << spec.name;
    std::size_t gradients = 0;
    for (const NamedValue& output : program.micro.outputs()) gradients += output.name.starts_with("grad/") ? 1 : 0;
    std::size_t moments = 0;
    for (const StateSpec& spec : program.state) moments += spec.name.starts_with("adam.m/") ? 1 : 0;
    EXPECT_EQ(gradients, moments);
    EXPECT_EQ(CountOps(program.update, op::adamw), static_cast<int>(moments));
    EXPECT_TRUE(program.update.FindOutput("metric/grad_norm"));
  }
}

TEST(Program, OptimizerState) {
  const auto names = [](const OptimizerConfig& optimizer) {
    std::set<std::string> out;
    for (const StateSpec& spec : BuildProgram(kTinyMlp, optimizer, kBatch).state)
      out.insert(spec.name.substr(0, spec.name.find('/')));
    return out;
  };
  EXPECT_TRUE(names({.kind = OptimizerKind::kSgd}).contains("sgd.m"));
  EXPECT_FALSE(names({.kind = OptimizerKind::kSgd, .momentum = 0}).contains("sgd.m"));
  EXPECT_TRUE(names({.kind = OptimizerKind::kAdam}).contains("adam.v"));
}

TEST(Program, WeightDecaySparesVectors) {
  const Program program = BuildProgram(kTinyGpt2, {.weight_decay = 0.5f}, kBatch);
  int decayed = 0, spared = 0;
  for (const Node& node : program.update.nodes()) {
    if (node.op != op::adamw) continue;
    const bool matrix = program.update.type(node.inputs[0]).shape.rank() > 1;
    EXPECT_EQ(node.attrs.Float(3), matrix ? 0.5f : 0.0f);
    (matrix ? decayed : spared) += 1;
  }
  EXPECT_EQ(decayed, 2 + 2 * 4);
  EXPECT_EQ(spared, 2 * 8 + 2);
}

TEST(Program, DropoutNodesHaveStreamsOfTheirOwn) {
  const Program program = BuildProgram(kTinyGpt2, {}, kBatch);
  std::map<std::int64_t, int> uses;
  for (const Node& node : program.micro.nodes()) {
    if (node.op == op::dropout) ++uses[node.attrs.Int(1)];
    if (node.op == op::attention) ++uses[node.attrs.Int(3)];
  }
  EXPECT_EQ(uses.size(), 1u + 2 * 3);  // embedding; attention and two residual branches per layer
  EXPECT_EQ(uses.rbegin()->first, 6);
  EXPECT_EQ(CountOps(BuildEval(kTinyGpt2, kBatch), op::dropout), 0);
  for (const Node& node : BuildEval(kTinyGpt2, kBatch).nodes()) {
    if (node.op == op::attention) {
      EXPECT_EQ(node.attrs.Float(2), 0.0f);
    }
  }
}

TEST(Program, RunningStatistics) {
  const Program program = BuildProgram(kTinyResNet, {}, kBatch);
  const auto stat = program.micro.FindOutput("stat/layer4.1.bn2.running_var");
  ASSERT_TRUE(stat);
  // The variance is made unbiased over the two 1x1 images of the microbatch: 2 / (2 - 1).
  const ValueId value = program.micro.outputs()[*stat].value;
  const auto node = std::find_if(program.micro.nodes().begin(), program.micro.nodes().end(),
                                 [&](const Node& n) { return n.first_output == value; });
  EXPECT_EQ(node->op, op::scale);
  EXPECT_EQ(node->attrs.Float(0), 2.0f);
  EXPECT_FALSE(program.micro.FindInput("state/bn1.running_mean"));
  EXPECT_TRUE(BuildEval(kTinyResNet, kBatch).FindInput("state/bn1.running_mean"));
  EXPECT_EQ(CountOps(BuildEval(kTinyResNet, kBatch), op::batchnorm_train), 0);
}

// Convolutions and poolings halve height and width each for itself, rounding up.
TEST(Program, ImagesThatAreNotSquare) {
  ResNetConfig wide = kTinyResNet;
  wide.image = 9;
  wide.image_width = 20;
  for (const bool cifar_stem : {true, false}) {
    wide.cifar_stem = cifar_stem;
    const Program program = BuildProgram(wide, {}, kBatch);
    ASSERT_TRUE(Verify(program));
    const auto images = program.micro.FindInput("batch/images");
    ASSERT_TRUE(images);
    EXPECT_EQ(program.micro.type(program.micro.inputs()[*images].value).shape, (Shape{2, 9, 20, 3}));
    const Shape last = cifar_stem ? Shape{2, 2, 3, 32} : Shape{2, 1, 1, 32};
    const bool found = std::ranges::any_of(program.micro.nodes(), [&](const Node& node) {
      return node.op == op::global_avg_pool && program.micro.type(node.inputs[0]).shape == last;
    });
    EXPECT_TRUE(found) << "the last stage is not " << ToString(last);
  }
  EXPECT_EQ(ParameterCount(wide), ParameterCount(ResNetConfig(kTinyResNet)) + 3 * 4 * (49 - 9));
}

TEST(Forward, OutputsOfEvalAndLogits) {
  for (const ModelConfig& model : AllTiny()) {
    const Graph eval = BuildEval(model, kBatch), logits = BuildLogits(model, kBatch);
    EXPECT_EQ(eval.type(eval.outputs()[*eval.FindOutput("loss")].value).shape, Shape{});
    EXPECT_EQ(logits.outputs().size(), 1u);
    const Shape shape = logits.type(logits.outputs()[*logits.FindOutput("logits")].value).shape;
    EXPECT_EQ(shape.rank(), 2);
    EXPECT_EQ(shape[0], std::holds_alternative<Gpt2Config>(model) || std::holds_alternative<LlamaConfig>(model) ? 8 : 2);
  }
}

// Attention reads slices of the projection as they lie: nothing is transposed anywhere in a step.
TEST(Program, NoTransposes) {
  for (const ModelConfig& model : AllTiny()) EXPECT_EQ(CountOps(BuildProgram(model, {}, kBatch).micro, op::transpose), 0);
}

std::string ErrorOf(const ModelConfig& model, const BatchConfig& batch = kBatch) {
  const auto status = Check(model, batch);
  return status ? "accepted" : status.error().message;
}

TEST(Check, BatchesThatNoTensorHoldsAreRefused) {
  EXPECT_TRUE(CheckSizes(Gpt2Config{}, {.microbatch = 8, .sequence = 1024}));
  const Status refused = CheckSizes(Gpt2Config{}, {.microbatch = 512, .sequence = 1024});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "batch.microbatch: 512 gives tensors of [512, 1024, 50257] elements, at most 17179869184 fit");
  EXPECT_FALSE(CheckSizes(ResNetConfig{.image = 4096}, {.microbatch = 8}));
  EXPECT_FALSE(CheckSizes(MlpConfig{.hidden = {1 << 20}}, {.microbatch = 1 << 20}));
}

TEST(Check, NamesTheField) {
  Gpt2Config gpt2 = kTinyGpt2;
  gpt2.heads = 3;
  EXPECT_EQ(ErrorOf(gpt2), "model.heads: 3 heads must divide the width 8");
  gpt2 = kTinyGpt2;
  gpt2.width = 600;
  EXPECT_EQ(ErrorOf(gpt2), "model.heads: a head is at most 256 wide, got 600 / 2");
  gpt2 = kTinyGpt2;
  gpt2.dropout = 1;
  EXPECT_EQ(ErrorOf(gpt2), "model.dropout: expected 0 <= p < 1, got 1");
  EXPECT_EQ(ErrorOf(kTinyGpt2, {.sequence = 17}),
            "batch.sequence: expected an integer in 1 .. 16, because model.context is 16, got 17");
  EXPECT_EQ(ErrorOf(kTinyGpt2, {.microbatch = 0}), "batch.microbatch: expected an integer in 1 .. 1048576, got 0");
  LlamaConfig llama = kTinyLlama;
  llama.kv_heads = 3;
  EXPECT_EQ(ErrorOf(llama), "model.kv_heads: expected a divisor of model.heads (4), got 3");
  llama = kTinyLlama;
  llama.width = 12;
  EXPECT_EQ(ErrorOf(llama), "model.heads: a head's width must be even and at most 256, got 3");
  ResNetConfig resnet = kTinyResNet;
  resnet.depth = 34;
  EXPECT_EQ(ErrorOf(resnet), "model.depth: expected 18 or 50, got 34");
  EXPECT_EQ(ErrorOf(kTinyResNet, {.microbatch = 1}),
            "batch.microbatch: batch normalisation of 8x8 images needs a microbatch of at least 2, got 1");
  resnet = kTinyResNet;
  resnet.image_width = 5;
  EXPECT_EQ(ErrorOf(resnet, {.microbatch = 1}),
            "batch.microbatch: batch normalisation of 8x5 images needs a microbatch of at least 2, got 1");
  resnet.image_width = 9;
  EXPECT_EQ(ErrorOf(resnet, {.microbatch = 1}), "accepted");
  MlpConfig mlp = kTinyMlp;
  mlp.activation = "sine";
  EXPECT_EQ(ErrorOf(mlp), "model.activation: expected relu, gelu, silu or tanh, got 'sine'");
}

TEST(Program, LargeModelsBuildQuickly) {
  const Program program = BuildProgram(Gpt2Config{}, {.clip_norm = 1}, {.microbatch = 4, .sequence = 128});
  EXPECT_EQ(program.state.size(), 3u * 148);
  EXPECT_TRUE(Verify(program));
}

// Whatever is made of a model has the digits asked for in every contraction, and is otherwise the same.
TEST(Model, ContractionsHaveTheDigits) {
  const auto check = [](const Graph& graph, const Graph& plain, int digits) {
    ASSERT_EQ(graph.nodes().size(), plain.nodes().size());
    int contractions = 0;
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      const OpDef& def = graph.def(graph.nodes()[n]);
      contractions += TakesOptional(def.attrs) ? 1 : 0;
      EXPECT_EQ(ops::DigitsOf(graph.Instance(graph.nodes()[n])), TakesOptional(def.attrs) ? digits : 0) << def.name;
      EXPECT_EQ(graph.nodes()[n].op, plain.nodes()[n].op);
    }
    EXPECT_GT(contractions, 0);
  };
  for (const ModelConfig& model : AllTiny()) {
    for (const int digits : {2, 3}) {
      check(BuildProgram(model, {}, kBatch, digits).micro, BuildProgram(model, {}, kBatch).micro, digits);
      check(BuildEval(model, kBatch, digits), BuildEval(model, kBatch), digits);
      check(BuildLogits(model, kBatch, digits), BuildLogits(model, kBatch), digits);
    }
  }
}

}  // namespace
}  // namespace assay
