// One false element of every op that rounded jobs compute with a bound: the dispute comes down to it, and whoever has the true value wins.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "assay/semantics/rounded/formula.h"
#include "conduct.h"
#include "disputes.h"
#include "forgeries.h"

namespace assay::roundtest {
namespace {

constexpr char kLlama[] = R"(
steps = 2
seed = 9
[model]
kind = "llama"
layers = 1
heads = 2
kv_heads = 1
width = 16
context = 12
[data]
kind = "chars"
[batch]
microbatch = 2
sequence = 12
[commit]
every = 1
[snapshot]
every = 1
)";

// The names of a step's ops that have a bound.
std::set<std::string> BoundedOps(const PreparedJob& prepared) {
  const dispute::Terms terms = dispute::Terms::Make(ContentOf(prepared).job, ContentOf(prepared).program).value();
  std::set<std::string> names;
  for (std::size_t node = 0; node < terms.nodes().size(); ++node) {
    const OpDef& def = *terms.nodes().Instance(node).def;
    if (def.has_bound()) names.emplace(def.name);
  }
  return names;
}

// An element of the op is a hundredth larger than it is: the one nearest to `size`.
Forgery LargerThanTrue(const std::string& op, double size) {
  return {.among = [op](const StepNodes& nodes, std::size_t node,
                        std::size_t output) { return output == 0 && nodes.Instance(node).def->name == op; },
          .liking = [size](const numerics::Grid&, double y,
                           double e) { return std::fabs(y) > 1e6 * e ? std::fabs(std::fabs(y) - size) : kNever; },
          .value = [](const numerics::Grid& grid, double y, double) { return grid.Round(1.01 * y); },
          .decision = [](const numerics::Grid&, double, double) -> std::optional<rounding::Decision> { return std::nullopt; }};
}

std::uint32_t LossOf(const RunAccount& account) {
  return dispute::OpenClaim(account.receipt(), "receipt").value().receipt.loss_bits;
}

TEST_F(Disputes, AFalseElementOfEveryOpIsFound) {
  std::set<std::string> decided, lost;
  for (const char* text : {kMlp, kGpt2, kResNet, kLlama}) {
    const PreparedJob prepared = JobOf(text, 32);
    const Scratch place;
    Machine other(32, 2), crooked(32);
    ASSERT_TRUE(TrainIn(place / "honest", prepared, other));
    const RunDirectory honest = RunDirectory::Open(place / "honest").value();
    const auto account = RunAccount::Make(honest, prepared, *other.backend, other.pool, {}).value();
    for (const std::string& op : BoundedOps(prepared)) {
      for (const double size : {1e30, 1.0, 0.1}) {
        if (decided.contains(op)) break;
        const std::string name = fmt::format("{}-{}", op, size);
        Forger forger(prepared, crooked, prepared.job.steps, LargerThanTrue(op, size));
        if (!forger.Train(place / name, KeyOf(8))) continue;  // it has no bound there
        const RunDirectory lie = RunDirectory::Open(place / name).value();
        const attacks::Hooks hooks = forger.hooks();
        attacks::HooksConduct conduct(hooks, nullptr);
        const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
        if (Same(*account, *liar) && LossOf(*account) == LossOf(*liar)) {
          lost.insert(op);
          continue;
        }
        const auto finding = Try(prepared, *account, *liar, 1);
        ASSERT_TRUE(finding) << op;
        EXPECT_EQ(finding->cause, dispute::Cause::kOutput) << finding->reason;
        EXPECT_EQ(finding->node, static_cast<std::uint32_t>(forger.place()->node)) << finding->reason;
        EXPECT_EQ(finding->element, forger.place()->element) << finding->reason;
        decided.insert(op);
      }
    }
  }
  for (const std::string& op : decided) lost.erase(op);
  fmt::print("{} ops: {}; lost on the way to the state: {}\n", decided.size(), fmt::join(decided, " "), fmt::join(lost, " "));
  for (const char* op : {"matmul", "conv2d", "batchnorm_train", "batchnorm_grad", "layernorm", "layernorm_grad_x", "attention",
                         "attention_grad", "cross_entropy_grad", "rmsnorm", "rope", "adamw", "sgd", "gelu_tanh"}) {
    EXPECT_TRUE(decided.contains(op)) << op;
  }
}

}  // namespace
}  // namespace assay::roundtest
