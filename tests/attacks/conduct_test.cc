// Cheats as providers: what they say about their runs is what their runs commit to, and from the lie on not what an honest provider says.
#include "conduct.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fixture_for_test.h"

namespace assay::attacks {
namespace {

using dispute::TreeKind;

// Cheats whose runs do not hold together, so that nobody can answer from them: what an audit calls damaged, and a log that is too short. What the rest did does
// not always follow from a state alone.
bool Contradicts(const Cheat& cheat) { return cheat.finding.damage || cheat.name == "truncated-log"; }
bool LiesAboutLoss(const Cheat& cheat) { return cheat.name.starts_with("rewritten-") || cheat.name == "stopped-early"; }

Digest RootOf(dispute::Account& account, const dispute::TreeName& tree) {
  const auto made = account.Tree(tree);
  EXPECT_TRUE(made) << made.error().message;
  return made ? (*made)->root() : Digest{};
}

class ProviderTest : public testing::TestWithParam<std::tuple<std::size_t, std::int64_t>> {};

TEST_P(ProviderTest, SaysWhatItsRunCommitsTo) {
  const Cheat& cheat = Cheats()[std::get<0>(GetParam())];
  testkit::Scratch scratch;
  Machine machine(1, "auto");
  const SigningKey key = TestKey();
  const Job job = MakeJob(kVectorJob, std::get<1>(GetParam()));
  const CheatRequest request{.job = job, .out = scratch / "run"};
  const auto lie = RunCheat(cheat, request, key, *machine.backend, machine.pool);
  ASSERT_TRUE(lie) << lie.error().message;
  const auto provider = CheatingProvider::Open(cheat, request, key, *machine.backend, machine.pool);
  ASSERT_EQ(provider.has_value(), !Contradicts(cheat)) << (provider ? "" : provider.error().message);
  if (!provider) return;
  dispute::RunAccount& account = (*provider)->account();

  const std::uint64_t entries = (*account.Tree({.kind = TreeKind::kLog}))->size();
  for (std::uint64_t e = 0; e < entries; ++e) {
    const LogEntry entry = DecodeLogEntry(*account.Leaf({.kind = TreeKind::kLog}, e), "entry").value();
    EXPECT_EQ(RootOf(account, {.kind = TreeKind::kState, .at = entry.step}), entry.state_root) << "step " << entry.step;
    if (e == 0) continue;
    const auto at = static_cast<std::int64_t>(e);
    EXPECT_EQ(RootOf(account, {.kind = TreeKind::kBatches, .at = at}), entry.batch_root) << "entry " << e;
    const dispute::TreeName states{.kind = TreeKind::kStates, .at = at};
    const auto last = dispute::DecodeStepRecord(*account.Leaf(states, (*account.Tree(states))->size() - 1)).value();
    EXPECT_EQ(last.state_root, entry.state_root) << "entry " << e;
    EXPECT_EQ(last.step, entry.step);
    if (!LiesAboutLoss(cheat)) {
      EXPECT_EQ(last.loss_bits, entry.loss_bits) << "entry " << e;
    }
  }
  if (!lie->step || *lie->step == 0) return;
  const auto traced = account.Tree({.kind = TreeKind::kTrace, .at = *lie->step});
  EXPECT_EQ(traced.has_value(), cheat.name != "stopped-early");
}

std::string NameOf(const testing::TestParamInfo<std::tuple<std::size_t, std::int64_t>>& info) {
  std::string name = fmt::format("{}_every{}", Cheats()[std::get<0>(info.param)].name, std::get<1>(info.param));
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cheats, ProviderTest,
                         testing::Combine(testing::Range(std::size_t{0}, Cheats().size()),
                                          testing::Values(std::int64_t{1}, std::int64_t{5})),
                         NameOf);

}  // namespace
}  // namespace assay::attacks
