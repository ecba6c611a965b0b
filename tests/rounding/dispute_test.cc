// Disputes about runs of rounded jobs: who follows another's rounding log and lies loses, and so does whose value is one that no correct evaluation leads to.
#include <gtest/gtest.h>

#include "assay/dispute/run_account.h"
#include "conduct.h"
#include "dispute/play.h"
#include "forger.h"
#include "forgeries.h"

namespace assay::roundtest {
namespace {

using dispute::Claim;
using dispute::Played;
using dispute::RunAccount;

class Disputes : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  RunDirectory Run(const std::string& name) { return RunDirectory::Open(scratch_ / name).value(); }

  // What is found of who is guilty (0: the first), on either side of the table. None where both claim the same.
  std::optional<dispute::Finding> Try(const PreparedJob& prepared, RunAccount& first, RunAccount& second, std::size_t guilty) {
    const dispute::Terms terms = dispute::Terms::Make(ContentOf(prepared).job, ContentOf(prepared).program).value();
    RunAccount* const parties[] = {&first, &second};
    dispute::Finding found;
    for (const std::size_t a : {std::size_t{0}, std::size_t{1}}) {
      const std::size_t b = 1 - a;
      const auto claim = [&](std::size_t p) { return dispute::OpenClaim(parties[p]->receipt(), "receipt").value(); };
      const auto say = [&](std::size_t p) {
        return [account = parties[p]](const dispute::Question& question) { return dispute::AnswerFrom(*account, question); };
      };
      const Played played = dispute::Play(terms, claim(a), claim(b), say(a), say(b));
      if (std::holds_alternative<dispute::Agreement>(played.outcome.next) && Same(first, second)) return std::nullopt;
      const dispute::Finding* finding = played.finding();
      const auto* undecided = std::get_if<dispute::Undecided>(&played.outcome.next);
      EXPECT_NE(finding, nullptr) << (undecided != nullptr ? undecided->why : "no verdict");
      if (finding == nullptr) return found;
      EXPECT_EQ(finding->guilty[0], a == guilty) << finding->reason;
      EXPECT_EQ(finding->guilty[1], b == guilty) << finding->reason;
      found = *finding;
    }
    return found;
  }
  static bool Same(const RunAccount& first, const RunAccount& second) {
    const auto end = [](const RunAccount& account) {
      return dispute::OpenClaim(account.receipt(), "receipt").value().receipt.final_state_root;
    };
    return end(first) == end(second);
  }
  static void ExpectAt(const dispute::Finding& finding, const Place& place) {
    EXPECT_EQ(finding.cause, dispute::Cause::kOutput) << finding.reason;
    EXPECT_EQ(finding.step, 2) << finding.reason;
    EXPECT_EQ(finding.node, static_cast<std::uint32_t>(place.node)) << finding.reason;
    EXPECT_EQ(finding.element, place.element) << finding.reason;
    EXPECT_FALSE(finding.truth.empty());
  }

  Scratch scratch_;
};

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

TEST_F(Disputes, ATrainerWhoseDecisionIsInadmissibleLosesToWhoFollows) {
  int cases = 0;
  for (const char* text : {kMlp, kGpt2, kResNet}) {
    const PreparedJob prepared = JobOf(text, 32);
    for (const Forgery& forgery :
         {Among(Updates, TieOutsideTheBound()), Among(Updates, FarFromABoundary()), Among(Updates, WideOutsideTheBound())}) {
      Machine crooked(32), follower(32, 2, 0.99, 3);
      const std::string name = fmt::format("liar-{}", cases), honest = fmt::format("honest-{}", cases);
      ++cases;
      Forger forger(prepared, crooked, 2, forgery);
      ASSERT_TRUE(forger.Train(scratch_ / name, KeyOf(8)));
      const RunDirectory lie = Run(name);
      const auto followed = TrainIn(scratch_ / honest, prepared, follower, INT64_MAX, KeyOf(), &lie);
      ASSERT_TRUE(followed) << followed.error().message;
      const RunDirectory run = Run(honest);
      const attacks::Hooks hooks = forger.hooks();
      attacks::HooksConduct conduct(hooks, nullptr);
      const auto liar = RunAccount::Make(lie, prepared, *crooked.backend, crooked.pool, {}, &conduct).value();
      const auto account = RunAccount::Make(run, prepared, *follower.backend, follower.pool, {}).value();
      const auto finding = Try(prepared, *account, *liar, 1);
      ASSERT_TRUE(finding) << "a lie that changes nothing";
      ExpectAt(*finding, *forger.place());
    }
  }
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
