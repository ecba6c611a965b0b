// Disputes about runs of rounded jobs: each party is judged by its own rounding log, and by the truth about one element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assay/base/file.h"
#include "assay/dispute/proceedings.h"
#include "assay/semantics/rounded/formula.h"
#include "conduct.h"
#include "disputes.h"
#include "forger.h"
#include "forgeries.h"
#include "tools.h"

namespace assay::roundtest {
namespace {

// The challenger commits to the trainer's log and takes one value otherwise: anywhere, or where the log has a decision.
TEST_F(Disputes, WhoFollowsALogAndLiesLoses) {
  int cases = 0, lost = 0;
  for (const char* text : {kMlp, kGpt2, kLargerGpt2, kResNet}) {
    for (const std::int64_t bits : {32, 24}) {
      const PreparedJob prepared = JobOf(text, bits);
      Machine trainer(bits, 2, 0.99, 4), other(bits);
      const std::string honest = fmt::format("honest-{}", cases);
      ASSERT_TRUE(TrainIn(scratch_ / honest, prepared, trainer));
      const RunDirectory run = Run(honest);
      const auto account = RunAccount::Make(run, prepared, *trainer.backend, trainer.pool, {}).value();
      std::vector<Forgery> forgeries = {Among(Updates, FarFromABoundary()), Among(Updates, TieOutsideTheBound())};
      if (text != kResNet) forgeries.push_back(Among(Products, FarFromABoundary()));
      if (text == kLargerGpt2 && bits == 32) forgeries.push_back(OpenTakenOtherwise());
      for (const Forgery& forgery : forgeries) {
        const std::string name = fmt::format("liar-{}", cases++);
        Forger forger(prepared, other, 2, forgery, &run);
        const Status trained = forger.Train(scratch_ / name, KeyOf(8));
        ASSERT_TRUE(trained) << trained.error().message;
        const RunDirectory lie = Run(name);
        const attacks::Hooks hooks = forger.hooks();
        attacks::HooksConduct conduct(hooks, nullptr);
        const auto liar = RunAccount::Make(lie, prepared, *other.backend, other.pool, {}, &conduct).value();
        const auto finding = Try(prepared, *account, *liar, 1);
        lost += finding ? 0 : 1;
        if (finding) ExpectAt(*finding, *forger.place());
      }
    }
  }
  EXPECT_LT(lost, cases / 3) << "too many lies changed nothing";
}

// A decision that no correct evaluation can have taken loses to whoever trains for itself, and to whoever follows all but that.
TEST_F(Disputes, ATrainerWhoseDecisionIsInadmissibleLosesToHonestRuns) {
  int cases = 0;
  for (const char* text : {kMlp, kGpt2, kResNet}) {
    const PreparedJob prepared = JobOf(text, 32);
    Machine other(32, 2);
    const std::string honest = fmt::format("honest-{}", cases);
    ASSERT_TRUE(TrainIn(scratch_ / honest, prepared, other));
    const RunDirectory run = Run(honest);
    const auto account = RunAccount::Make(run, prepared, *other.backend, other.pool, {}).value();
    for (const Forgery& forgery :
         {Among(Updates, TieOutsideTheBound()), Among(Updates, FarFromABoundary()), Among(Updates, WideOutsideTheBound())}) {
      Machine crooked(32), follower(32, 2, 0.99, 3);
      const std::string name = fmt::format("liar-{}", cases), after = fmt::format("follower-{}", cases);
      ++cases;
      Forger forger(prepared, crooked, 2, forgery);
      ASSERT_TRUE(forger.Train(scratch_ / name, KeyOf(8)));
      const RunDirectory lie = Run(name);
      const auto followed = TrainIn(scratch_ / after, prepared, follower, INT64_MAX, KeyOf(), &lie);
      ASSERT_TRUE(followed) << followed.error().message;
      const RunDirectory follows = Run(after);
      const auto second = RunAccount::Make(follows, prepared, *follower.backend, follower.pool, {}).value();
      const attacks::Hooks hooks = forger.hooks();
      attacks::HooksConduct conduct(hooks, nullptr);
      const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
      for (RunAccount* const right : {account.get(), second.get()}) {
        const auto finding = Try(prepared, *right, *liar, 1);
        ASSERT_TRUE(finding) << "a lie that changes nothing";
        ExpectAt(*finding, *forger.place());
      }
    }
  }
}

// A tie that is taken the other way and left out of the log: whoever rounds so has written it down.
TEST_F(Disputes, ATieThatIsLeftOutConvicts) {
  Forgery forgery = OpenTakenOtherwise();
  forgery.decision = [](const numerics::Grid&, double, double) -> std::optional<rounding::Decision> { return std::nullopt; };
  int cases = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const PreparedJob prepared = Reseeded(JobOf(kLargerGpt2, 32), seed);
    const Scratch place;
    Machine other(32, 2), crooked(32);
    ASSERT_TRUE(TrainIn(place / "honest", prepared, other));
    Forger forger(prepared, crooked, 2, forgery);
    if (!forger.Train(place / "liar", KeyOf(8))) continue;  // no tie in that step
    const RunDirectory honest = RunDirectory::Open(place / "honest").value(), lie = RunDirectory::Open(place / "liar").value();
    const attacks::Hooks hooks = forger.hooks();
    attacks::HooksConduct conduct(hooks, nullptr);
    const auto account = RunAccount::Make(honest, prepared, *other.backend, other.pool, {}).value();
    const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
    if (Same(*account, *liar)) continue;  // what differed was lost on the way to the state
    ++cases;
    const auto finding = Try(prepared, *account, *liar, 1);
    ASSERT_TRUE(finding);
    ExpectAt(*finding, *forger.place());
    EXPECT_NE(finding->reason.find("leaves out"), std::string::npos) << finding->reason;
  }
  EXPECT_GT(cases, 0);
}

// Ten times the learning rate, and the samples of another step: no log is shared, and none is looked at.
TEST_F(Disputes, AFalseLearningRateAndAFalseBatchLoseToAnyHonestRun) {
  for (const std::int64_t every : {1, 2}) {
    const PreparedJob prepared = JobOf(kGpt2, 32, every);
    for (const bool batch : {false, true}) {
      const Scratch place;
      Machine other(32, 2), crooked(32);
      ASSERT_TRUE(TrainIn(place / "honest", prepared, other));
      attacks::Hooks hooks;
      hooks.plan = [&](StepPlan& plan) {
        if (plan.step + 1 < 3) return;
        if (batch) {
          std::ranges::fill(plan.indices, plan.indices.front());
        } else {
          plan.lr *= 10;
        }
      };
      attacks::Lie lie;
      const SigningKey key = KeyOf(8);
      ASSERT_TRUE(attacks::RunHooks(
          hooks, {.prepared = prepared, .key = key, .backend = *crooked.backend, .pool = crooked.pool, .at = 3, .lie = lie},
          place / "liar"));
      const RunDirectory a = RunDirectory::Open(place / "honest").value(), b = RunDirectory::Open(place / "liar").value();
      attacks::HooksConduct conduct(hooks, nullptr);
      const auto account = RunAccount::Make(a, prepared, *other.backend, other.pool, {}).value();
      const auto liar = RunAccount::Make(b, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
      const auto finding = Try(prepared, *account, *liar, 1);
      ASSERT_TRUE(finding);
      EXPECT_EQ(finding->step, 3) << finding->reason;
      EXPECT_EQ(finding->cause, dispute::Cause::kInput) << finding->reason;
    }
  }
}

// A decision farther from the truth than an evaluation can be, but not farther from a follower's own value than it can be. Its writer is guilty; who followed it
// without looking twice is not, and its claim falls with it.
TEST_F(Disputes, WhoFollowsAFalseLogIsMisled) {
  const Forgery forgery = TakenOtherwise(0.6, 0.9);
  int cases = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const PreparedJob prepared = Reseeded(JobOf(kLargerGpt2, 32), seed);
    const Scratch place;
    Machine other(32, 2), crooked(32), follower(32, 1, 0, 0, true);
    ASSERT_TRUE(TrainIn(place / "honest", prepared, other));
    Forger forger(prepared, crooked, 2, forgery);
    if (!forger.Train(place / "liar", KeyOf(8))) continue;
    const RunDirectory honest = RunDirectory::Open(place / "honest").value(), lie = RunDirectory::Open(place / "liar").value();
    const attacks::Hooks hooks = forger.hooks();
    attacks::HooksConduct conduct(hooks, nullptr);
    const auto account = RunAccount::Make(honest, prepared, *other.backend, other.pool, {}).value();
    const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
    if (Same(*account, *liar)) continue;
    ++cases;
    const auto finding = Try(prepared, *account, *liar, 1);
    ASSERT_TRUE(finding);
    ExpectAt(*finding, *forger.place());
    const auto trained = TrainIn(place / "follower", prepared, follower, INT64_MAX, KeyOf(9), &lie);
    ASSERT_TRUE(trained) << trained.error().message;
    const RunDirectory misled = RunDirectory::Open(place / "follower").value();
    const auto after = RunAccount::Make(misled, prepared, *follower.backend, follower.pool, {}).value();
    const Played played = PlayThem(prepared, *account, *after);
    ASSERT_NE(played.finding(), nullptr);
    EXPECT_FALSE(played.finding()->guilty[0] || played.finding()->guilty[1]) << played.finding()->reason;
    EXPECT_FALSE(played.finding()->false_log[0]);
    EXPECT_TRUE(played.finding()->false_log[1]);
  }
  EXPECT_GT(cases, 0);
}

// Rows of 8 KiB, so that a column lies in as many blocks as it has rows.
constexpr char kWide[] = R"(
steps = 2
seed = 5
[model]
kind = "mlp"
hidden = [2048]
[data]
kind = "features"
features = 20
classes = 3
samples = 96
[batch]
microbatch = 48
[optimizer]
clip_norm = 0.01
[commit]
every = 1
[snapshot]
every = 1
)";

// Elements whose operands are scattered over many blocks, or which are sums over more than can be opened: the parties agree on a list of words, or on partial
// sums, and who tells others than its inputs give is guilty.
TEST_F(Disputes, LargeSumsAreAgreedOnPartByPart) {
  const auto scattered = [](std::string_view op) {
    return [op](const StepNodes& nodes, std::size_t node, std::size_t output) {
      const OpInstance instance = nodes.Instance(node);
      return output == 0 && instance.def->name == op &&
             !dispute::LieInBlocks(instance, instance.def->dependencies(instance, 0, {0, 1}), dispute::kDirectLeaves);
    };
  };
  const PreparedJob prepared = JobOf(kWide, 32);
  for (const char* op : {"matmul", "sum_squares"}) {
    const Scratch place;
    Machine other(32, 2), crooked(32);
    ASSERT_TRUE(TrainIn(place / "honest", prepared, other));
    Forgery forgery = Among(scattered(op), FarFromABoundary());
    // By so much that it is not lost on the way to the state.
    forgery.value = [](const numerics::Grid& grid, double y, double) { return grid.Round(1.01 * y); };
    Forger forger(prepared, crooked, 2, forgery);
    const Status forged = forger.Train(place / "liar", KeyOf(8));
    ASSERT_TRUE(forged) << op << ": " << forged.error().message;
    const RunDirectory honest = RunDirectory::Open(place / "honest").value(), lie = RunDirectory::Open(place / "liar").value();
    const attacks::Hooks hooks = forger.hooks();
    attacks::HooksConduct conduct(hooks, nullptr);
    const auto account = RunAccount::Make(honest, prepared, *other.backend, other.pool, {}).value();
    const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
    const auto finding = Try(prepared, *account, *liar, 1);
    ASSERT_TRUE(finding) << op << ": a lie that changes nothing";
    ExpectAt(*finding, *forger.place());

    // Parts that are not what the inputs give, with the liar on either side of the table. `deep`: all that it says of them fits together.
    for (const bool deep : {true, false}) {
      for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
        int asked = 0;
        const dispute::Speaker lying = [&](const dispute::Question& question) -> Result<Bytes> {
          const auto* parts = std::get_if<dispute::PartsQuestion>(&question);
          if (parts == nullptr) return dispute::AnswerFrom(*liar, question);
          ++asked;
          Bytes body = dispute::AnswerFrom(*liar, question).value();
          if (op == std::string_view("sum_squares")) {
            body[5] ^= 1;
            return body;
          }
          dispute::PartsQuestion words = *parts;
          words.path = {0};
          Bytes chunk = dispute::AnswerFrom(*liar, words).value();
          chunk[5] ^= 1;
          if (!parts->path.empty()) return chunk;
          const Digest digest = HashBytes(chunk);
          if (deep) std::ranges::copy(digest.bytes, body.begin());
          return body;
        };
        const Played played = first == 0 ? PlayThem(prepared, *liar, *account, lying, Truthful(*account))
                                         : PlayThem(prepared, *account, *liar, Truthful(*account), lying);
        ASSERT_NE(played.finding(), nullptr) << op;
        EXPECT_TRUE(played.finding()->guilty[first]) << op << ": " << played.finding()->reason;
        EXPECT_FALSE(played.finding()->guilty[1 - first]) << op << ": " << played.finding()->reason;
        EXPECT_GT(asked, 0) << op;
        EXPECT_LT(played.bytes, 1u << 20) << op;
      }
    }
  }
}

// Runs that were made independently, by machines that differ by as much as the bound allows: both are right, and nobody is ever guilty. Where a close call
// parts them it is undecided.
TEST_F(Disputes, HonestRunsConvictNobody) {
  int undecided = 0, agreed = 0;
  for (const char* text : {kMlp, kGpt2, kLargerGpt2, kResNet}) {
    for (const std::int64_t bits : {32, 24}) {
      const PreparedJob prepared = JobOf(text, bits, text == kGpt2 ? 2 : 1);
      std::vector<std::unique_ptr<Machine>> machines;
      std::vector<std::unique_ptr<RunDirectory>> runs;
      std::vector<std::unique_ptr<RunAccount>> accounts;
      const Scratch place;
      for (std::uint32_t seed = 0; seed < 4; ++seed) {
        machines.push_back(std::make_unique<Machine>(bits, 1, seed == 0 ? 0 : 0.99, seed));
        const std::string path = place / std::to_string(seed);
        ASSERT_TRUE(TrainIn(path, prepared, *machines.back(), INT64_MAX, KeyOf(static_cast<std::uint8_t>(seed + 1))));
        runs.push_back(std::make_unique<RunDirectory>(RunDirectory::Open(path).value()));
        accounts.push_back(
            RunAccount::Make(*runs.back(), prepared, *machines.back()->backend, machines.back()->pool, {}).value());
      }
      for (std::size_t a = 0; a < accounts.size(); ++a) {
        for (std::size_t b = 0; b < accounts.size(); ++b) {
          if (a == b) continue;
          const Played played = PlayThem(prepared, *accounts[a], *accounts[b]);
          const auto* draw = std::get_if<dispute::Undecided>(&played.outcome.next);
          undecided += draw != nullptr ? 1 : 0;
          agreed += std::holds_alternative<dispute::Agreement>(played.outcome.next) ? 1 : 0;
          EXPECT_EQ(played.finding(), nullptr) << played.finding()->reason;
          if (draw != nullptr) {
            EXPECT_TRUE(draw->why.find("rounding log") != std::string::npos) << draw->why;
          }
        }
      }
    }
  }
  fmt::print("{} undecided, {} agreed\n", undecided, agreed);
  EXPECT_GT(undecided, 0);
}

// Who follows an honest trainer, on whatever machine, has nothing to dispute.
TEST_F(Disputes, HonestFollowersAgree) {
  for (const char* text : {kMlp, kGpt2, kResNet}) {
    const PreparedJob prepared = JobOf(text, 32);
    const Scratch place;
    Machine trainer(32, 1, 0.99, 1), follower(32, 2, 0.99, 2);
    ASSERT_TRUE(TrainIn(place / "a", prepared, trainer));
    const RunDirectory a = RunDirectory::Open(place / "a").value();
    ASSERT_TRUE(TrainIn(place / "b", prepared, follower, INT64_MAX, KeyOf(8), &a));
    const RunDirectory b = RunDirectory::Open(place / "b").value();
    const auto first = RunAccount::Make(a, prepared, *trainer.backend, trainer.pool, {}).value();
    const auto second = RunAccount::Make(b, prepared, *follower.backend, follower.pool, {}).value();
    EXPECT_FALSE(Try(prepared, *first, *second, 0)) << "they agree";
  }
}

}  // namespace
}  // namespace assay::roundtest
