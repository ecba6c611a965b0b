#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/load.h"
#include "assay/cli/text.h"
#include "assay/train/evaluate.h"

namespace assay::cli {
namespace {

struct EvalOptions {
  ModelSource source;
  std::int64_t batches = -1;  // -1: the job's number
  bool train_part = false;
  ComputeOptions compute;
  bool json = false;
};

Result<int> RunEval(const EvalOptions& options) {
  ASSAY_ASSIGN(const Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const LoadedModel model, LoadModel(options.source, *compute.pool));
  const Data& data = model.prepared.data;
  const Dataset* part = options.train_part ? data.train.get() : data.validation.get();
  if (part == nullptr) return Err("{}: data.validation keeps nothing back to evaluate on; use --train", options.source.target);
  const Job& job = model.prepared.job;
  const std::int64_t batches = options.batches >= 0 ? options.batches : job.eval.batches;
  const Evaluation evaluation = Evaluate(job, *part, model.specs, model.state, batches, *compute.backend);
  if (options.json) {
    OrderedJson json = {{"loss", evaluation.loss},
                        {"accuracy", evaluation.accuracy},
                        {"predictions", evaluation.predictions},
                        {"part", options.train_part ? "train" : "validation"},
                        {"step", nullptr},
                        {"state_root", nullptr}};
    if (model.snapshot) {
      json["step"] = model.snapshot->step;
      json["state_root"] = model.snapshot->state_root.hex();
    }
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("data         {} part, {} predictions\n", options.train_part ? "training" : "validation",
             Grouped(evaluation.predictions));
  fmt::print("loss         {:.6f}\naccuracy     {:.2f}%\n", evaluation.loss, 100 * evaluation.accuracy);
  if (model.snapshot) fmt::print("step         {}\nstate root   {}\n", model.snapshot->step, model.snapshot->state_root.hex());
  return kExitOk;
}

}  // namespace

void AddEval(Arguments& app, Command& command) {
  auto options = std::make_shared<EvalOptions>();
  Subcommand sub = app.Add("eval", "Loss and accuracy of a trained model on validation data");
  sub.Footer(
      "Only whole microbatches are evaluated, of samples spread evenly over the part: of 25 samples in microbatches of 8,\n"
      "24 count. A part smaller than a microbatch fills one by repeating its samples.\n"
      "\n"
      "Examples: assay eval runs/mlp\n"
      "          assay eval examples/gpt2-124m.toml --weights model.safetensors --data text.txt");
  sub.Option("target", options->source.target, "Run directory, or job file together with --weights").Required().Type("RUN|JOB");
  sub.Option("--weights", options->source.weights, "Weights to evaluate instead of the run's newest snapshot (safetensors)")
      .Type("FILE");
  sub.Option("--data", options->source.data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--batches", options->batches, "Microbatches to evaluate; 0: all; default: the job's eval.batches")
      .Range(std::int64_t{0}, std::int64_t{1} << 40)
      .Type("N");
  sub.Flag("--train", options->train_part, "Evaluate on the training part instead");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object");
  SetCommand(sub, std::move(options), command, RunEval);
}

}  // namespace assay::cli
