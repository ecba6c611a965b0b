// A sampled audit refutes a run exactly when it draws a bad segment, and over many nonces draws one as often as ChanceOfCatching
// says.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "cheat.h"
#include "fixture_for_test.h"
#include "tools.h"

namespace assay::attacks {
namespace {

constexpr std::int64_t kSegments = 20;
constexpr int kNonces = 200;
constexpr std::uint64_t kSeed = 20240607;
constexpr double kUnlikely = 1e-3;

// One step per segment.
Job SegmentJob() {
  Job job = MakeJob(kVectorJob, 1);
  job.steps = kSegments;
  job.snapshot.every = 1;
  return job;
}

// A run whose steps `bad` are false, each on its own: the steps after a false one go on from the state that it left.
void TrainWithBadSteps(const std::set<std::int64_t>& bad, const std::string& path, const SigningKey& key, Machine& machine) {
  const PreparedJob prepared = Prepare(SegmentJob()).value();
  Lie lie;
  const Setting setting{.prepared = prepared, .key = key, .backend = *machine.backend, .pool = machine.pool, .lie = lie};
  const Hooks hooks{.after = [&](std::int64_t step, const State&, State& after) -> Status {
    if (bad.contains(step)) after.back().Span<float>().front() += 1;
    return {};
  }};
  const Status trained = RunHooks(hooks, setting, path);
  ASSERT_TRUE(trained.has_value()) << trained.error().message;
}

std::optional<std::int64_t> FirstBad(const std::vector<std::int64_t>& drawn, const std::set<std::int64_t>& bad) {
  for (const std::int64_t segment : drawn) {
    if (bad.contains(segment + 1)) return segment + 1;
  }
  return std::nullopt;
}

// The chance of k successes, or of a number at least as unlikely, in n tries.
double TwoSided(int n, int k, double p) {
  const auto log_chance = [&](int i) {
    return std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(p) + (n - i) * std::log1p(-p);
  };
  double total = 0;
  for (int i = 0; i <= n; ++i) {
    if (log_chance(i) <= log_chance(k) + 1e-9) total += std::exp(log_chance(i));
  }
  return total;
}

// C(n, k), exact in a double for what is asked here.
double Choose(std::int64_t n, std::int64_t k) {
  double ways = 1;
  for (std::int64_t i = 1; i <= k; ++i) ways = ways * static_cast<double>(n - k + i) / static_cast<double>(i);
  return n < k ? 0 : std::round(ways);
}

struct Sampling {
  std::set<std::int64_t> bad;  // steps
  double percent = 0;
  std::int64_t count = 0;  // segments that this share comes to
};

void PrintTo(const Sampling& sampling, std::ostream* out) {
  *out << sampling.bad.size() << " bad, " << sampling.percent << "%";
}

class SamplingTest : public testing::TestWithParam<Sampling> {};

TEST_P(SamplingTest, CatchesAtThePredictedRate) {
  const auto& [bad, percent, count] = GetParam();
  const testkit::Scratch scratch;
  Machine machine(1, "auto");
  const SigningKey key = TestKey();
  TrainWithBadSteps(bad, scratch / "run", key, machine);
  const RunDirectory run = RunDirectory::Open(scratch / "run").value();
  const PreparedJob prepared = PrepareRun(run, "", machine.pool).value();
  const Digest receipt = HashBytes(AsBytes(ReadText(run.path() + "/receipt.json").value()));
  std::mt19937_64 bits(kSeed);
  int caught = 0;
  for (int i = 0; i < kNonces; ++i) {
    AuditOptions options;
    options.sample_percent = percent;
    for (int k = 0; k < 16; ++k) options.nonce.push_back(static_cast<std::uint8_t>(bits()));
    const AuditReport report = Audit(run, prepared, options, *machine.backend, machine.pool, {});
    const std::vector<std::int64_t> drawn = DrawSegments(receipt, options.nonce, kSegments, count);
    ASSERT_EQ(drawn.size(), static_cast<std::size_t>(count));
    const std::optional<std::int64_t> first = FirstBad(drawn, bad);
    ASSERT_EQ(Name(report.verdict), first ? "refuted" : "verified") << "nonce " << i << " of seed " << kSeed << report.reason;
    // Segments are replayed in their order, up to the first that is bad.
    ASSERT_LE(report.drawn.size(), drawn.size());
    ASSERT_TRUE(std::equal(report.drawn.begin(), report.drawn.end(), drawn.begin()));
    if (!first) {
      ASSERT_EQ(report.drawn, drawn);
      continue;
    }
    ASSERT_TRUE(report.refutation.has_value());
    ASSERT_EQ(report.refutation->step, first);
    ++caught;
  }
  const auto b = static_cast<std::int64_t>(bad.size());
  const double chance = ChanceOfCatching(kSegments, count, b);
  EXPECT_NEAR(chance, 1 - Choose(kSegments - b, count) / Choose(kSegments, count), 1e-12);
  fmt::print("{} bad of {}, {} drawn: caught {} of {}, predicted {:.1f}\n", b, kSegments, count, caught, kNonces,
             chance * kNonces);
  if (chance == 1) {
    EXPECT_EQ(caught, kNonces);
  } else {
    EXPECT_GT(TwoSided(kNonces, caught, chance), kUnlikely)
        << "caught " << caught << " of " << kNonces << ", chance " << chance;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SamplingTest,
                         testing::Values(Sampling{{7}, 5, 1}, Sampling{{20}, 25, 5}, Sampling{{1}, 50, 10},
                                         Sampling{{3, 4}, 10, 2}, Sampling{{1, 20}, 40, 8}, Sampling{{2, 9, 10, 15, 19}, 10, 2},
                                         Sampling{{2, 9, 10, 15, 19}, 21, 5}, Sampling{{5, 6, 7}, 90, 18},
                                         Sampling{{11}, 100, 20}));

}  // namespace
}  // namespace assay::attacks
