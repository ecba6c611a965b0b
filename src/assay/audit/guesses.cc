#include "assay/audit/guesses.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "assay/model/import.h"

namespace assay {
namespace {

void AddRate(std::vector<Guess>& guesses, const StepPlan& plan, float lr) {
  if (!std::isfinite(lr) || lr == plan.lr) return;
  for (const Guess& guess : guesses) {
    if (guess.plan.lr == lr) return;
  }
  Guess guess{.words = fmt::format("used lr {}, the job says {}", lr, plan.lr), .plan = plan};
  guess.plan.lr = lr;
  guesses.push_back(std::move(guess));
}

// Where the update is proportional to the rate, the claimed change over the right one is the ratio of the rates; the median over many elements
// is taken, and the plain numbers around it that a person would have written.
void AddMeasuredRate(std::vector<Guess>& guesses, const StepPlan& plan, std::span<const Tensor> before,
                     std::span<const Tensor> right, std::span<const Tensor> claimed) {
  std::vector<double> ratios;
  for (std::size_t t = 0; t < right.size() && ratios.size() < 4096; ++t) {
    if (right[t].type().dtype != DType::kF32) continue;
    const auto old = before[t].Span<float>(), mine = right[t].Span<float>(), theirs = claimed[t].Span<float>();
    if (std::ranges::equal(mine, theirs)) continue;  // moments do not depend on the rate
    for (std::size_t i = 0; i < mine.size() && ratios.size() < 4096; ++i) {
      const double change = static_cast<double>(mine[i]) - static_cast<double>(old[i]);
      const double ratio = (static_cast<double>(theirs[i]) - static_cast<double>(old[i])) / change;
      if (std::abs(change) > 1e-5 * std::abs(static_cast<double>(old[i])) && std::isfinite(ratio)) ratios.push_back(ratio);
    }
  }
  if (ratios.empty()) return;
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  const double rate = static_cast<double>(plan.lr) * ratios[ratios.size() / 2];
  for (int digits = 1; digits <= 7; ++digits)
    AddRate(guesses, plan, std::strtof(fmt::format("{:.{}e}", rate, digits - 1).c_str(), nullptr));
}

void AddRates(std::vector<Guess>& guesses, const Stepper& stepper, const StepPlan& plan) {
  for (const double factor : {10.0, 0.1, 2.0, 0.5, 3.0, 1 / 3.0, 5.0, 0.2, 100.0, 0.01, 0.0}) {
    AddRate(guesses, plan, static_cast<float>(static_cast<double>(plan.lr) * factor));
  }
  AddRate(guesses, plan, stepper.prepared().job.schedule.lr);
  for (const std::int64_t other : {std::int64_t{plan.step} - 1, std::int64_t{plan.step} + 1}) {
    if (other >= 0) AddRate(guesses, plan, stepper.Plan(other).lr);
  }
}

void AddBatches(std::vector<Guess>& guesses, const Stepper& stepper, const StepPlan& plan) {
  for (const std::int64_t other : {std::int64_t{plan.step} - 1, std::int64_t{plan.step} + 1}) {
    if (other < 0) continue;
    Guess guess{.words = fmt::format("was run on the batch of step {}, whatever its batch root says", other + 1), .plan = plan};
    guess.plan.indices = stepper.Plan(other).indices;
    guesses.push_back(std::move(guess));
  }
  Guess reversed{.words = "took its batch in reverse order, whatever its batch root says", .plan = plan};
  std::ranges::reverse(reversed.plan.indices);
  guesses.push_back(std::move(reversed));
}

void DropLowBits(Tensor& tensor) {
  if (tensor.type().dtype != DType::kF32) return;
  for (float& v : tensor.Span<float>()) v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffff0000u);
}

void AddShortWeights(std::vector<Guess>& guesses, const PreparedJob& prepared, const StepPlan& plan) {
  std::set<std::string> model;
  for (const StateSpec& spec : ModelState(prepared.job.model)) model.insert(spec.name);
  const std::vector<StateSpec>& specs = prepared.program.state;
  guesses.push_back({.words = "kept only 16 bits of the weights", .plan = plan, .edit = [model, &specs](State& state) {
                       for (std::size_t t = 0; t < state.size(); ++t) {
                         if (model.contains(specs[t].name)) DropLowBits(state[t]);
                       }
                     }});
  guesses.push_back({.words = "kept only 16 bits of the state", .plan = plan, .edit = [](State& state) {
                       for (Tensor& tensor : state) DropLowBits(tensor);
                     }});
}

}  // namespace

std::vector<Guess> GuessesFor(const Stepper& stepper, std::int64_t step, std::span<const Tensor> before,
                              std::span<const Tensor> right, std::span<const Tensor> claimed) {
  const StepPlan plan = stepper.Plan(step);
  std::vector<Guess> guesses;
  if (!claimed.empty()) AddMeasuredRate(guesses, plan, before, right, claimed);
  AddRates(guesses, stepper, plan);
  AddShortWeights(guesses, stepper.prepared(), plan);
  AddBatches(guesses, stepper, plan);
  return guesses;
}

}  // namespace assay
