// No false alarm: honest runs on all sorts of machines, interrupted, taken up again, lengthened, always pass. Twenty of them, or
// as many as ASSAY_HONEST_RUNS says. Run i is the same on every machine that has the same sets of kernels.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "assay/train/trainer.h"
#include "fixture_for_test.h"

namespace assay::attacks {
namespace {

constexpr char kImageJob[] = R"(
[model]
kind = "resnet"
depth = 18
width = 4
[data]
kind = "images"
image = 8
classes = 3
samples = 64
[batch]
microbatch = 4
microbatches = 3
[optimizer]
kind = "adam"
)";

constexpr char kLlamaJob[] = R"(
[model]
kind = "llama"
context = 8
layers = 1
heads = 2
kv_heads = 1
width = 16
hidden = 32
vocab = 256
[data]
kind = "tokens"
[batch]
microbatch = 3
microbatches = 2
sequence = 8
[schedule]
kind = "step"
every = 3
gamma = 0.5
)";

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  std::int64_t Below(std::int64_t n) { return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(n)); }
  template <class T>
  T Pick(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(Below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::mt19937_64 bits_;
};

Job AnyJob(Dice& dice) {
  const char* text = dice.Pick<const char*>({kLanguageJob, kVectorJob, kImageJob, kLlamaJob});
  Job job = ParseJob(text, "job").value();
  job.seed = static_cast<std::uint64_t>(dice.Below(1000));
  job.steps = 2 + dice.Below(14);
  job.commit_every = dice.Pick<std::int64_t>({1, 1, 2, 3, 5});
  job.snapshot.every = dice.Pick<std::int64_t>({0, 1, 2, 4}) * job.commit_every;
  job.snapshot.keep = dice.Pick<std::int64_t>({0, 0, 1, 3});
  return job;
}

std::unique_ptr<Machine> AnyMachine(Dice& dice) {
  return std::make_unique<Machine>(static_cast<int>(dice.Pick<std::int64_t>({1, 2, 3, 7})), dice.Pick(cli::AvailableSimd()));
}

// One call of the trainer, on a machine of its own, that is asked to stop before step `stop`.
void TrainUntil(const Job& job, const std::string& path, std::int64_t stop, const SigningKey& key, Dice& dice) {
  const std::unique_ptr<Machine> machine = AnyMachine(dice);
  const auto prepared = Prepare(job);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  auto run = RunDirectory::OpenForTraining(path, ContentOf(*prepared), key.verify_key());
  ASSERT_TRUE(run.has_value()) << run.error().message;
  std::int64_t done = 0;
  const TrainHooks hooks{.on_start = [&](std::int64_t first) { done = first; },
                         .on_step = [&](const StepReport& report) { done = report.step; },
                         .should_stop = [&] { return done >= stop; }};
  const auto outcome = Train(*prepared, *run, key, *machine->backend, machine->pool, hooks);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
}

// In one go, or stopped and taken up again, or as a shorter job that is lengthened.
void TrainSomehow(const Job& job, const std::string& path, const SigningKey& key, Dice& dice) {
  if (dice.Below(3) == 0) {
    Job shorter = job;
    shorter.steps = 1 + dice.Below(job.steps);
    TrainUntil(shorter, path, shorter.steps, key, dice);
  }
  for (std::int64_t stops = dice.Below(4); stops > 0; --stops) TrainUntil(job, path, dice.Below(job.steps), key, dice);
  TrainUntil(job, path, job.steps, key, dice);
}

void CheckAudit(const Job& job, const std::string& path, const AuditOptions& options, Dice& dice) {
  const std::unique_ptr<Machine> machine = AnyMachine(dice);
  const AuditReport report = AuditRun(path, options, *machine);
  EXPECT_EQ(Name(report.verdict), "verified") << report.reason << (report.refutation ? report.refutation->reason : "");
  if (!options.sample_percent) {
    EXPECT_EQ(report.steps_checked, job.steps);
  }
}

TEST(Honest, RunsAreNeverRefuted) {
  const char* asked = std::getenv("ASSAY_HONEST_RUNS");
  const int runs = asked == nullptr ? 20 : static_cast<int>(std::strtol(asked, nullptr, 10));
  ASSERT_GT(runs, 0) << "ASSAY_HONEST_RUNS: expected a number of runs";
  const SigningKey key = TestKey();
  for (int i = 0; i < runs && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("run {}", i));
    Dice dice(static_cast<std::uint64_t>(i));
    const testkit::Scratch scratch;
    const Job job = AnyJob(dice);
    TrainSomehow(job, scratch / "run", key, dice);
    AuditOptions options;
    options.expected = {.job = Prepare(job).value().identity.job, .signer = key.verify_key()};
    CheckAudit(job, scratch / "run", options, dice);
    options.sample_percent = static_cast<double>(1 + dice.Below(100));
    options.nonce = {static_cast<std::uint8_t>(dice.Below(256)), static_cast<std::uint8_t>(i)};
    CheckAudit(job, scratch / "run", options, dice);
  }
  fmt::print("{} honest runs, seeds 0 to {}\n", runs, runs - 1);
}

}  // namespace
}  // namespace assay::attacks
