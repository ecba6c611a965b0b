// The convolutions of ResNet-50 (CIFAR stem, batch 32), forward and backward, against oneDNN's direct convolutions on the same NHWC
// images. oneDNN chooses the layout of its weights, and reordering them is not counted against it; it also leaves out taps that fall
// on the padding, which the numeric contract includes. So only the mean has a target. Speeds in GFLOP/s.
#include <dnnl.hpp>

#include "backend_op.h"
#include "harness.h"

extern "C" void omp_set_num_threads(int threads);

namespace assay::bench {
namespace {

using dnnl::memory;

struct Layer {
  std::int64_t size, c, o, kernel, stride;
  std::int64_t pad() const { return kernel / 2; }
  std::int64_t out() const { return (size + 2 * pad() - kernel) / stride + 1; }
  std::string name() const { return fmt::format("{}x{} {}->{} {}x{}/{}", size, size, c, o, kernel, kernel, stride); }
};

constexpr std::int64_t kBatch = 32;
constexpr Layer kLayers[] = {
    {32, 3, 64, 3, 1},     {32, 64, 64, 1, 1},   {32, 64, 64, 3, 1},   {32, 64, 256, 1, 1},  {32, 256, 64, 1, 1},
    {32, 256, 128, 1, 1},  {32, 128, 128, 3, 2}, {16, 128, 512, 1, 1}, {32, 256, 512, 1, 2}, {16, 512, 128, 1, 1},
    {16, 128, 128, 3, 1},  {16, 512, 256, 1, 1}, {16, 256, 256, 3, 2}, {8, 256, 1024, 1, 1}, {16, 512, 1024, 1, 2},
    {8, 1024, 256, 1, 1},  {8, 256, 256, 3, 1},  {8, 1024, 512, 1, 1}, {8, 512, 512, 3, 2},  {4, 512, 2048, 1, 1},
    {8, 1024, 2048, 1, 2}, {4, 2048, 512, 1, 1}, {4, 512, 512, 3, 1},
};

// One oneDNN primitive with its arguments, in the layouts it prefers.
class Peer {
 public:
  explicit Peer(const Layer& l) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto image = [](std::int64_t c, std::int64_t size) {
      return memory::desc({kBatch, c, size, size}, memory::data_type::f32, memory::format_tag::nhwc);
    };
    const memory::desc x = image(l.c, l.size), y = image(l.o, l.out());
    const memory::desc w({l.o, l.c, l.kernel, l.kernel}, memory::data_type::f32, memory::format_tag::any);
    const memory::dims strides{l.stride, l.stride}, pads{l.pad(), l.pad()};
    const auto direct = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, direct, x, w, y, strides, pads, pads), engine_);
    const dnnl::convolution_backward_data::primitive_desc data(
        dnnl::convolution_backward_data::desc(direct, x, w, y, strides, pads, pads), engine_, forward);
    const dnnl::convolution_backward_weights::primitive_desc weights(
        dnnl::convolution_backward_weights::desc(direct, x, w, y, strides, pads, pads), engine_, forward);
    x_ = Filled(x, 1);
    y_ = Filled(y, 2);
    forward_ = dnnl::convolution_forward(forward);
    data_ = dnnl::convolution_backward_data(data);
    weights_ = dnnl::convolution_backward_weights(weights);
    forward_w_ = Filled(forward.weights_desc(), 3);
    data_w_ = Filled(data.weights_desc(), 4);
    weights_w_ = Filled(weights.diff_weights_desc(), 5);
    out_x_ = memory(x, engine_);
    out_y_ = memory(y, engine_);
  }

  void Forward() { Run(forward_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, forward_w_}, {DNNL_ARG_DST, out_y_}}); }
  void GradX() { Run(data_, {{DNNL_ARG_DIFF_DST, y_}, {DNNL_ARG_WEIGHTS, data_w_}, {DNNL_ARG_DIFF_SRC, out_x_}}); }
  void GradW() { Run(weights_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, y_}, {DNNL_ARG_DIFF_WEIGHTS, weights_w_}}); }

 private:
  memory Filled(const memory::desc& desc, std::uint32_t seed) {
    memory m(desc, engine_);
    const Tensor values = RandomTensor({static_cast<std::int64_t>(desc.get_size() / sizeof(float))}, seed);
    std::copy_n(values.Span<float>().data(), values.elements(), static_cast<float*>(m.get_data_handle()));
    return m;
  }
  void Run(dnnl::primitive& primitive, const std::unordered_map<int, memory>& args) {
    primitive.execute(stream_, args);
    stream_.wait();
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive forward_, data_, weights_;
  memory x_, y_, forward_w_, data_w_, weights_w_, out_x_, out_y_;
};

void Measure(const Layer& l, int threads, const Options& options, Machine& machine, Report& report) {
  const Shape x_shape{kBatch, l.size, l.size, l.c}, w_shape{l.o, l.kernel, l.kernel, l.c},
      y_shape{kBatch, l.out(), l.out(), l.o};
  const Tensor x = RandomTensor(x_shape, 1), w = RandomTensor(w_shape, 2), dy = RandomTensor(y_shape, 3);
  BackendOp forward(op::conv2d, {l.stride, l.pad(), std::int64_t{1}}, x, w, y_shape);
  BackendOp grad_x(op::conv2d_grad_x, {l.stride, l.pad(), std::int64_t{1}, l.size, l.size}, dy, w, x_shape);
  BackendOp grad_w(op::conv2d_grad_w, {l.stride, l.pad(), std::int64_t{1}, l.kernel, l.kernel}, x, dy, w_shape);
  Peer peer(l);
  const double work = 2e-9 * static_cast<double>(y_shape.elements() * l.kernel * l.kernel * l.c);
  const auto race = [&](const char* what, BackendOp& ours, void (Peer::*theirs)()) {
    const std::string name = fmt::format("conv {} {}", l.name(), what);
    if (name.find(options.filter) == std::string::npos) return;
    const std::vector<double> best =
        Race({[&] { ours.Run(machine.backend()); }, [&] { (peer.*theirs)(); }}, threads, options.seconds);
    report.Add({name, "oneDNN", threads, work / best[0], work / best[1], 0.0});
  };
  race("y", forward, &Peer::Forward);
  if (l.c != 3) race("dx", grad_x, &Peer::GradX);
  race("dw", grad_w, &Peer::GradW);
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay::bench;
  const Options options = ParseOptions(argc, argv);
  Report report;
  for (int threads : options.threads) {
    Machine machine(threads);
    omp_set_num_threads(threads);
    for (const Layer& layer : kLayers) Measure(layer, threads, options, machine, report);
    report.AddMean("conv geometric mean", threads, 0.9);
  }
  return report.WriteJson(options.json) ? 0 : 2;
}
