// ResNet-18 (basic blocks) and ResNet-50 (bottlenecks, stride in the 3x3) with torchvision's names; images NHWC, weights OHWI.
#include <array>
#include <cmath>

#include "assay/model/forward.h"

namespace assay::model {
namespace {

constexpr float kNormEps = 1e-5f;

struct Block {
  std::string name;
  std::int64_t in = 0, middle = 0, out = 0, stride = 1;
  bool downsample() const { return stride != 1 || in != out; }
};

std::vector<Block> Blocks(const ResNetConfig& config) {
  const bool deep = config.depth == 50;
  const std::array<int, 4> repeats = deep ? std::array{3, 4, 6, 3} : std::array{2, 2, 2, 2};
  std::vector<Block> out;
  std::int64_t in = config.width;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t middle = config.width << stage;
    for (int i = 0; i < repeats[static_cast<std::size_t>(stage)]; ++i) {
      const std::int64_t outputs = deep ? 4 * middle : middle;
      out.push_back({fmt::format("layer{}.{}", stage + 1, i), in, middle, outputs, stage > 0 && i == 0 ? 2 : 1});
      in = outputs;
    }
  }
  return out;
}

void AddConv(std::vector<Parameter>& out, const std::string& name, std::int64_t outputs, std::int64_t kernel, std::int64_t in) {
  const float deviation = std::sqrt(2.0f / static_cast<float>(outputs * kernel * kernel));
  out.push_back({name + ".weight", {outputs, kernel, kernel, in}, {InitKind::kNormal, deviation}});
}

void AddNorm(std::vector<Parameter>& out, const std::string& name, std::int64_t channels) {
  out.push_back({name + ".weight", {channels}, {InitKind::kConstant, 1.0f}});
  out.push_back({name + ".bias", {channels}, {InitKind::kConstant, 0.0f}});
  out.push_back({name + ".running_mean", {channels}, {InitKind::kConstant, 0.0f}, false});
  out.push_back({name + ".running_var", {channels}, {InitKind::kConstant, 1.0f}, false});
}

ValueId Norm(Forward& f, ValueId x, const std::string& name) {
  OpBuilder& ops = f.ops();
  const ValueId gamma = f[name + ".weight"], beta = f[name + ".bias"];
  if (!f.train()) return ops.BatchNormInfer(x, gamma, beta, f[name + ".running_mean"], f[name + ".running_var"], kNormEps);
  const std::vector<ValueId> y = ops.BatchNormTrain(x, gamma, beta, kNormEps);
  const std::int64_t rows = ops.shape(x).elements() / ops.shape(x).Back(0);
  f.Statistic(name + ".running_mean", y[1]);
  f.Statistic(name + ".running_var", ops.Scale(y[2], static_cast<float>(rows) / static_cast<float>(rows - 1)));
  return y[0];
}

ValueId ConvNorm(Forward& f, ValueId x, const std::string& prefix, const std::string& conv, const std::string& norm,
                 std::int64_t stride, std::int64_t pad) {
  return Norm(f, f.ops().Conv2d(x, f[prefix + conv + ".weight"], stride, pad), prefix + norm);
}

ValueId RunBlock(const ResNetConfig& config, Forward& f, ValueId x, const Block& block) {
  OpBuilder& ops = f.ops();
  const std::string p = block.name + ".";
  ValueId y;
  if (config.depth == 50) {
    y = ops.Unary(op::relu, ConvNorm(f, x, p, "conv1", "bn1", 1, 0));
    y = ops.Unary(op::relu, ConvNorm(f, y, p, "conv2", "bn2", block.stride, 1));
    y = ConvNorm(f, y, p, "conv3", "bn3", 1, 0);
  } else {
    y = ops.Unary(op::relu, ConvNorm(f, x, p, "conv1", "bn1", block.stride, 1));
    y = ConvNorm(f, y, p, "conv2", "bn2", 1, 1);
  }
  if (block.downsample()) x = ConvNorm(f, x, p, "downsample.0", "downsample.1", block.stride, 0);
  return ops.Unary(op::relu, ops.Add(y, x));
}

}  // namespace

std::vector<Parameter> Parameters(const ResNetConfig& config) {
  std::vector<Parameter> out;
  AddConv(out, "conv1", config.width, config.cifar_stem ? 3 : 7, config.channels);
  AddNorm(out, "bn1", config.width);
  const std::vector<Block> blocks = Blocks(config);
  for (const Block& block : blocks) {
    const std::string p = block.name + ".";
    if (config.depth == 50) {
      AddConv(out, p + "conv1", block.middle, 1, block.in);
      AddConv(out, p + "conv2", block.middle, 3, block.middle);
      AddConv(out, p + "conv3", block.out, 1, block.middle);
      AddNorm(out, p + "bn3", block.out);
    } else {
      AddConv(out, p + "conv1", block.middle, 3, block.in);
      AddConv(out, p + "conv2", block.out, 3, block.middle);
    }
    AddNorm(out, p + "bn1", block.middle);
    AddNorm(out, p + "bn2", block.middle);
    if (block.downsample()) {
      AddConv(out, p + "downsample.0", block.out, 1, block.in);
      AddNorm(out, p + "downsample.1", block.out);
    }
  }
  const std::int64_t features = blocks.back().out;
  const float bound = 1.0f / std::sqrt(static_cast<float>(features));
  out.push_back({"fc.weight", {config.classes, features}, {InitKind::kUniform, bound}});
  out.push_back({"fc.bias", {config.classes}, {InitKind::kUniform, bound}});
  return out;
}

ValueId Logits(const ResNetConfig& config, Forward& f, ValueId images) {
  OpBuilder& ops = f.ops();
  ValueId x = config.cifar_stem ? ConvNorm(f, images, "", "conv1", "bn1", 1, 1) : ConvNorm(f, images, "", "conv1", "bn1", 2, 3);
  x = ops.Unary(op::relu, x);
  if (!config.cifar_stem) x = ops.MaxPool2d(x, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1}).front();
  for (const Block& block : Blocks(config)) x = RunBlock(config, f, x, block);
  return f.Linear(ops.GlobalAvgPool(x), "fc", true);
}

Status CheckConfig(const ResNetConfig& config, const BatchConfig& batch) {
  if (config.depth != 18 && config.depth != 50) return Err("model.depth: expected 18 or 50, got {}", config.depth);
  ASSAY_TRY(CheckRange("model.classes", config.classes, 1, 1 << 20));
  ASSAY_TRY(CheckRange("model.image", config.image, 1, 4096));
  ASSAY_TRY(CheckRange("model.image_width", config.image_width, 0, 4096));
  ASSAY_TRY(CheckRange("model.channels", config.channels, 1, 1024));
  ASSAY_TRY(CheckRange("model.width", config.width, 1, 4096));
  // Each halving rounds up; the last stage's batch norm needs two values per channel for its variance.
  std::int64_t rows = config.height(), columns = config.columns();
  for (int halving = 0; halving < (config.cifar_stem ? 3 : 5); ++halving) {
    rows = (rows + 1) / 2;
    columns = (columns + 1) / 2;
  }
  if (rows * columns * batch.microbatch < 2) {
    return Err("batch.microbatch: batch normalisation of {}x{} images needs a microbatch of at least 2, got {}",
               config.height(), config.columns(), batch.microbatch);
  }
  return {};
}

}  // namespace assay::model
