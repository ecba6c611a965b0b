// Our training steps, one per line read, so that bench/run.py can let us and a peer take turns.
//
// Usage: steps MODEL BATCH THREADS DROPOUT, MODEL one of FindSetup() below, with -int8x2 or -int8x3 behind it for contractions by digits. Answers
// "ready", then to each line "step" the seconds one step took, to "commit" those that hashing the state took, and to "memory" the peak resident set
// in bytes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "assay/backend/cpu/cpu.h"
#include "assay/backend/ref/ref_backend.h"
#include "assay/base/check.h"
#include "assay/base/thread_pool.h"
#include "assay/exec/step.h"
#include "assay/merkle/tree.h"
#include "assay/model/model.h"

namespace assay::bench {
namespace {

struct Setup {
  ModelConfig model;
  OptimizerConfig optimizer;
  BatchConfig batch;
  int digits = 0;
};

std::optional<Setup> FindSetup(std::string_view name, std::int64_t batch, float dropout) {
  Setup setup;
  for (const int digits : {2, 3}) {
    const std::string suffix = fmt::format("-int8x{}", digits);
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    setup.digits = digits;
  }
  setup.batch.microbatch = batch;
  setup.batch.sequence = 128;
  setup.optimizer = {.beta2 = 0.95f, .weight_decay = 0.1f};
  if (name == "gpt2-124m") {
    Gpt2Config model;
    model.dropout = dropout;
    setup.model = model;
  } else if (name == "gpt2-small") {  // for the linearity of cost, where time matters more than size
    setup.model = Gpt2Config{.vocab = 1024, .context = 128, .layers = 4, .heads = 8, .width = 512, .dropout = dropout};
  } else if (name == "resnet50") {
    setup.model = ResNetConfig{.depth = 50};
    setup.optimizer = {.kind = OptimizerKind::kSgd, .weight_decay = 5e-4f};
  } else {
    return std::nullopt;
  }
  return setup;
}

// Any batch will do: the time of a step does not depend on the values.
void Fill(std::span<Tensor> fields) {
  for (Tensor& field : fields) {
    for (std::int64_t i = 0; i < field.elements(); ++i) {
      const std::uint32_t draw = static_cast<std::uint32_t>(i) * 2654435761u >> 16;
      if (field.dtype() == DType::kI32) {
        field.Span<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(draw % 10);
      } else {
        field.Span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(draw) / 32768.0f - 1.0f;
      }
    }
  }
}

void HashState(const Program& program, const State& state, ThreadPool& pool) {
  std::vector<ByteSpan> contents;
  for (const Tensor& tensor : state) contents.push_back(tensor.bytes());
  const std::vector<Digest> roots = TensorRoots(contents, pool);
  std::vector<TensorEntry> entries;
  for (std::size_t i = 0; i < state.size(); ++i) entries.push_back({program.state[i].name, program.state[i].type, roots[i]});
  ASSAY_CHECK(StateRoot(entries) != Digest{});
}

void Serve(const Setup& setup, int threads) {
  ThreadPool pool(threads);
  const std::vector<cpu::Simd> simd = cpu::SupportedSimd();
  const std::unique_ptr<Backend> backend = simd.empty() ? ref::MakeRefBackend(pool) : cpu::MakeCpuBackend(simd.front(), pool);
  const Program program = BuildProgram(setup.model, setup.optimizer, setup.batch, setup.digits);
  State state = InitialState(program, 1);
  StepRunner runner(program, *backend);
  StepInput input;
  input.lr = 1e-4f;
  input.load = [](std::int64_t, std::span<Tensor> fields) { Fill(fields); };

  fmt::print("ready\n");
  std::fflush(stdout);
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    if (std::strncmp(line, "memory", 6) == 0) {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      fmt::print("{}\n", usage.ru_maxrss * 1024);
    } else {
      const auto start = std::chrono::steady_clock::now();
      if (std::strncmp(line, "commit", 6) == 0) {
        HashState(program, state, pool);
      } else {
        runner.Run(state, input);
        ++input.step;
      }
      fmt::print("{}\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  using namespace assay::bench;
  const auto setup = argc == 5 ? FindSetup(argv[1], std::atoll(argv[2]), static_cast<float>(std::atof(argv[4]))) : std::nullopt;
  if (!setup || std::atoll(argv[2]) < 1 || std::atoi(argv[3]) < 1) {
    fmt::print(stderr, "usage: steps gpt2-124m|gpt2-small|resnet50[-int8x2|-int8x3] BATCH THREADS DROPOUT\n");
    return 2;
  }
  Serve(*setup, std::atoi(argv[3]));
}
