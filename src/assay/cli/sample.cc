#include <algorithm>
#include <map>
#include <variant>

#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/load.h"
#include "assay/cli/sampler.h"
#include "assay/train/forward.h"

namespace assay::cli {
namespace {

struct SampleOptions {
  ModelSource source;
  std::string prompt = "\n";
  std::int64_t tokens = 200;
  SamplerOptions sampler;
  ComputeOptions compute;
  bool json = false;
};

// The longest text that the model looks at: what a run was trained on, what the model can take with weights from elsewhere.
Result<std::int64_t> WindowOf(const SampleOptions& options, const Job& job) {
  std::int64_t context = 0;
  if (const auto* gpt2 = std::get_if<Gpt2Config>(&job.model)) context = gpt2->context;
  if (const auto* llama = std::get_if<LlamaConfig>(&job.model)) context = llama->context;
  if (context == 0)
    return Err("{}: model.kind: expected a language model (gpt2 or llama) to sample from", options.source.target);
  return options.source.weights.empty() ? std::min(context, job.batch.sequence) : context;
}

// Logits of the next token after a text. Passes are kept for lengths that are powers of two, so that short texts are cheap; what
// follows the text in a longer pass cannot influence it, because attention is causal.
class NextLogits {
 public:
  NextLogits(const LoadedModel& model, std::int64_t window, Backend& backend)
      : model_(model), window_(window), backend_(backend) {}

  std::span<const float> operator()(std::span<const std::uint16_t> text) {
    text = text.last(std::min(text.size(), static_cast<std::size_t>(window_)));
    ForwardPass& pass = PassFor(static_cast<std::int64_t>(text.size()));
    const std::span<std::int32_t> tokens = pass.batch()[0].Span<std::int32_t>();
    std::fill(tokens.begin(), tokens.end(), 0);
    std::copy(text.begin(), text.end(), tokens.begin());
    pass.Run();
    const Tensor& logits = pass.Output("logits");
    const auto classes = static_cast<std::size_t>(logits.shape().Back(0));
    return logits.Span<float>().subspan((text.size() - 1) * classes, classes);
  }

 private:
  ForwardPass& PassFor(std::int64_t length) {
    std::int64_t size = 16;
    while (size < length) size *= 2;
    size = std::min(size, window_);
    auto& pass = passes_[size];
    if (pass == nullptr) {
      const BatchConfig batch{.microbatch = 1, .microbatches = 1, .sequence = size};
      const Job& job = model_.prepared.job;
      pass = std::make_unique<ForwardPass>(BuildLogits(job.model, batch, DigitsOf(job.precision)), model_.specs, model_.state,
                                           backend_);
    }
    return *pass;
  }

  const LoadedModel& model_;
  std::int64_t window_;
  Backend& backend_;
  std::map<std::int64_t, std::unique_ptr<ForwardPass>> passes_;
};

Result<int> RunSample(const SampleOptions& options) {
  ASSAY_ASSIGN(const Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const LoadedModel model, LoadModel(options.source, *compute.pool));
  ASSAY_ASSIGN(const std::int64_t window, WindowOf(options, model.prepared.job));
  const Tokenizer* tokenizer = model.prepared.data.tokenizer.get();
  if (tokenizer == nullptr)
    return Err("{}: data.kind: expected chars, bpe or packed text, which can turn tokens into text", options.source.target);
  auto text = tokenizer->Encode(options.prompt);
  if (!text) return Err("--prompt: {}", text.error().message);
  if (text->empty()) return Err("--prompt: expected at least one character");

  if (!options.json) fmt::print("{}", options.prompt);
  const std::size_t prompt_tokens = text->size();
  NextLogits next(model, window, *compute.backend);
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const auto token = static_cast<std::uint16_t>(NextToken(next(*text), options.sampler, static_cast<std::uint32_t>(i)));
    text->push_back(token);
    if (options.json) continue;
    fmt::print("{}", tokenizer->Decode({&token, 1}));
    std::fflush(stdout);
  }
  if (options.json) {
    const std::span<const std::uint16_t> made = std::span(*text).subspan(prompt_tokens);
    const OrderedJson json = {
        {"prompt", options.prompt},
        {"text", tokenizer->Decode(made)},
        {"tokens", std::vector<std::uint16_t>(made.begin(), made.end())},
        {"temperature", options.sampler.temperature},
        {"top_k", options.sampler.top_k},
        {"seed", options.sampler.seed},
        {"step", model.snapshot ? OrderedJson(model.snapshot->step) : OrderedJson(nullptr)},
        {"state_root", model.snapshot ? OrderedJson(model.snapshot->state_root.hex()) : OrderedJson(nullptr)}};
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("\n");
  return kExitOk;
}

}  // namespace

void AddSample(Arguments& app, Command& command) {
  auto options = std::make_shared<SampleOptions>();
  Subcommand sub = app.Add("sample", "Generate text with a trained language model");
  sub.Footer("Example: assay sample runs/shakespeare --prompt \"ROMEO:\" --tokens 300 --temperature 0.8 --top-k 40");
  sub.Option("target", options->source.target, "Run directory, or job file together with --weights").Required().Type("RUN|JOB");
  sub.Option("--prompt", options->prompt, "Text to continue; default: a line break").Type("TEXT");
  sub.Option("--tokens", options->tokens, "Tokens to write")
      .Range(std::int64_t{0}, std::int64_t{1} << 30)
      .ShowDefault()
      .Type("N");
  sub.Option("--temperature", options->sampler.temperature, "0: always the likeliest token; 1: as the model says; more: wilder")
      .Range(0.0f, 100.0f)
      .ShowDefault()
      .Type("T");
  sub.Option("--top-k", options->sampler.top_k, "Draw from the K likeliest tokens; 0: from all")
      .Range(std::int64_t{0}, std::int64_t{1} << 30)
      .ShowDefault()
      .Type("K");
  sub.Option("--seed", options->sampler.seed, "The same seed gives the same text on every machine").ShowDefault().Type("S");
  sub.Option("--weights", options->source.weights, "Weights to use instead of the run's newest snapshot (safetensors)")
      .Type("FILE");
  sub.Option("--data", options->source.data, "Data file instead of the job's").Type("PATH");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print one JSON object at the end instead of text as it comes");
  SetCommand(sub, std::move(options), command, RunSample);
}

}  // namespace assay::cli
